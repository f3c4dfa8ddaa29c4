"""Peer tests as data: our own RC endpoint against a device, messages both ways at once, and what must come of them.

`Ends` are `rxe`, the device in the guest, and `soft`, our endpoint.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from testbed.faults.model import Corrupt, Drop, Duplicate, Loss, Match, PacketFault, Reorder
from testbed.interop.guest.peer_side import PeerMessage
from topologies import Direction

__all__ = ["LINK", "PEER_CASES", "RXE", "SOFT", "PeerCase"]

RXE, SOFT = "rxe", "soft"
LINK = "h1-soft"
"""link from the device (UP) to our endpoint (DOWN is the way back)"""
_SIZES = (1, 2, 3, 4, 63, 255, 256, 257, 1023, 1024, 1025, 4096, 65_535, 262_144, 1_000_000, 1_048_576)
_DATA = frozenset(range(0x0C))
"""SEND and WRITE of RC"""
_ACK, _SEQUENCE_NAK = frozenset({0x11}), 0x60


@dataclass(frozen=True, slots=True)
class PeerCase:
    id: str
    rxe_sends: tuple[PeerMessage, ...] = ()
    soft_sends: tuple[PeerMessage, ...] = ()
    faults: tuple[PacketFault, ...] = ()
    path_mtu: int = 1024
    timeout_code: int = 17
    retry_count: int = 7
    rnr_retry: int = 7
    receive_late_ns: dict[str, int] = field(default_factory=dict)
    """delay until the receives of each end are posted; negative: never"""
    receive_short: int = 0
    """receives of both ends are that many bytes too short"""
    wrong_rkey: bool = False
    """both ends write by a key that the other did not give"""
    status: str = "SUCCESS"
    """status with which the sends end; of a failure: the first that does not succeed"""
    soft_status: str = ""
    """status with which the sends of our endpoint end, where the device answers something else than we do"""
    delivered: int | None = None
    """messages that land before the failure; None: all"""
    must_see: tuple[tuple[str, str], ...] = ()
    """(end, what it must have sent): nak, rnr, again (a PSN a second time)"""
    limit_s: float = 40.0
    hosts: int = 1
    """devices of the guest"""


def _messages(verb: str, sizes: tuple[int, ...] = _SIZES, imm: str = "some") -> tuple[PeerMessage, ...]:
    """imm: all; last, so that the receiver learns of the end; some: every other one, and the last."""
    every = {"all": 1, "some": 2, "last": len(sizes)}[imm]
    return tuple(
        PeerMessage(verb, size, 0xA0000000 + n if (len(sizes) - 1 - n) % every == 0 else None)
        for n, size in enumerate(sizes)
    )


def _both(name: str, messages: tuple[PeerMessage, ...], *faults: PacketFault, **more: object) -> PeerCase:
    return PeerCase(f"peer/{name}", messages, messages, faults, **more)  # type: ignore[arg-type]


def _drop(**match: object) -> Drop:
    attempt = match.pop("attempt", 1)
    return Drop("drop", (LINK,), match=Match(attempt=attempt, **match))  # type: ignore[arg-type]


_MEDIUM = (40_000, 17_000, 3, 60_001)
_TINY = (600, 5_000, 900)
_NAKED = ((RXE, "nak"), (SOFT, "nak"))
_AGAIN = ((RXE, "again"), (SOFT, "again"))
_NOT_READY = {RXE: 100_000_000, SOFT: 100_000_000}
_UP, _DOWN = (Direction.UP,), (Direction.DOWN,)

PEER_CASES = (
    _both("sizes-send", _messages("send")),
    _both("sizes-write", _messages("write", imm="last")),
    _both("sizes-write-imm", _messages("write", imm="all")),
    _both("mtu-256", _messages("send", _SIZES[:13]) + _messages("write", _SIZES[:13]), path_mtu=256),
    _both("mtu-4096", _messages("send", _SIZES[4:14]) + _messages("write", _SIZES[4:14]), path_mtu=4096),
    _both("loss-nak", _messages("write", _MEDIUM), _drop(opcodes=_DATA, message=1, packet=3), must_see=_NAKED + _AGAIN),
    _both(
        "loss-nak-send", _messages("send", _MEDIUM), _drop(opcodes=_DATA, message=1, packet=0), must_see=_NAKED + _AGAIN
    ),
    _both("loss-last", _messages("write", _MEDIUM), _drop(opcodes=_DATA, message=3, packet=-1), must_see=_AGAIN),
    _both(
        "loss-nak-itself",
        _messages("send", _MEDIUM),
        _drop(opcodes=_DATA, message=0, packet=3),
        Drop("nak", (LINK,), match=Match(opcodes=_ACK, syndrome=_SEQUENCE_NAK, attempt=1)),
        must_see=_AGAIN,
    ),
    _both("loss-acks", _messages("write", _MEDIUM), Drop("acks", (LINK,), match=Match(opcodes=_ACK), rate=0.5)),
    _both("loss-2-percent", _messages("send", _MEDIUM), Loss("loss", (LINK,), rate=0.02)),
    _both("duplicates", _messages("write", _MEDIUM), Duplicate("twice", (LINK,), rate=0.1, delay_ns=2_000_000)),
    _both("reorder", _messages("send", _MEDIUM), Reorder("late", (LINK,), match=Match(opcodes=_DATA), rate=0.02)),
    _both("corruption", _messages("write", _MEDIUM), Corrupt("bit", (LINK,), match=Match(opcodes=_DATA), rate=0.02)),
    _both(
        "receiver-not-ready",
        _messages("send", _TINY),
        receive_late_ns=_NOT_READY,
        must_see=((RXE, "rnr"), (SOFT, "rnr")),
    ),
    _both(
        "receiver-never-ready",
        _messages("send", _TINY),
        receive_late_ns={RXE: -1, SOFT: -1},
        rnr_retry=2,
        status="RNR_RETRY_EXC",
        delivered=0,
        must_see=((RXE, "rnr"), (SOFT, "rnr")),
    ),
    PeerCase(
        "peer/dead-path-from-rxe",
        _messages("write", _MEDIUM, imm="all"),
        faults=(Drop("dead", (LINK,), _UP, match=Match(opcodes=_DATA, message=2)),),
        timeout_code=14,
        retry_count=2,
        status="RETRY_EXC",
        delivered=2,
    ),
    PeerCase(
        "peer/dead-path-from-soft",
        soft_sends=_messages("write", _MEDIUM, imm="all"),
        faults=(Drop("dead", (LINK,), _DOWN, match=Match(opcodes=_DATA, message=2)),),
        timeout_code=14,
        retry_count=2,
        status="RETRY_EXC",
        delivered=2,
    ),
    _both("wrong-key", _messages("write", _TINY), wrong_rkey=True, status="REM_ACCESS", delivered=0),
    # rdma_rxe 6.1 answers with "remote operational error" where we answer with "invalid request".
    _both(
        "too-long", _messages("send", _TINY), receive_short=1, status="REM_INV_REQ", soft_status="REM_OP", delivered=0
    ),
)
