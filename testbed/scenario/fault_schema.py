"""The keys of `faults[...]`: one model per kind, and how each becomes a value of `testbed.faults.model`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import Field, PlainValidator

from testbed.faults.forge import FORGERIES
from testbed.faults.model import (
    Burst,
    Corrupt,
    Delay,
    Drop,
    Duplicate,
    EcnMark,
    Fault,
    Forge,
    Kill,
    LinkDown,
    Loss,
    Match,
    PacketFault,
    Pause,
    RateChange,
    Reorder,
    Window,
)
from testbed.reading.fields import (
    BandwidthKey,
    BoolKey,
    DirectionsKey,
    DurationKey,
    LinksKey,
    ProbabilityKey,
    Section,
    TextKey,
    WordKey,
    choice,
    refuse,
    whole,
    whole_or,
)
from testbed.reading.problems import closest
from topologies import DIRECTIONS, MAX_RANKS, Direction
from workloads.wire import ACK_UNLIMITED, OPCODES, PSN_MASK, Nak, Opcode

__all__ = ["ACK_OPCODES", "DATA_OPCODES", "FAULT_KINDS", "IRN_OPCODES", "OPCODE_GROUPS", "UC_OPCODES", "FaultKind", "MatchKeys"]

UC_OPCODES = frozenset(int(op) for op in Opcode if Opcode.UC_SEND_FIRST <= op <= Opcode.UC_WRITE_ONLY_IMM)
DATA_OPCODES = frozenset(int(op) for op in Opcode if OPCODES[op].is_request and op < Opcode.UC_SEND_FIRST) | UC_OPCODES
ACK_OPCODES = frozenset({int(Opcode.ACKNOWLEDGE)})
IRN_OPCODES = frozenset(map(int, (Opcode.WRITE_FIRST, Opcode.WRITE_ONLY, Opcode.WRITE_ONLY_IMM)))
"""of requests"""
OPCODE_GROUPS: dict[str, tuple[frozenset[int], int | None]] = {
    "data": (DATA_OPCODES, None),
    "ack": (ACK_OPCODES, ACK_UNLIMITED),
    "nak": (ACK_OPCODES, int(Nak.PSN_SEQUENCE)),
    "cnp": (frozenset({int(Opcode.CNP)}), None),
}
"""Words of `match.opcode` that say more than one opcode does: (opcodes, syndrome)."""

_NAMES = [op.name for op in Opcode if op <= Opcode.FETCH_ADD or op in UC_OPCODES or op is Opcode.IRN_ANSWER]
_WORDS = [*OPCODE_GROUPS, *_NAMES]


def _opcodes(value: object) -> tuple[frozenset[int], int | None]:
    if isinstance(value, str) and value in OPCODE_GROUPS:
        return OPCODE_GROUPS[value]
    words = value if isinstance(value, list) and value else [value]
    numbers = set()
    for word in words:
        if not isinstance(word, str) or word not in _NAMES:
            near = closest(word, _WORDS)
            raise refuse("unknown opcode", f"{', '.join(OPCODE_GROUPS)}, or names as WRITE_MIDDLE, or a list", near)
        numbers.add(int(Opcode[word]))
    return frozenset(numbers), None


class MatchKeys(Section):
    opcode: Annotated[tuple[frozenset[int], int | None], PlainValidator(_opcodes)] = (frozenset(), None)
    syndrome: Annotated[int, whole(0, 255)] | None = None
    psn_offset: Annotated[int, whole(0, PSN_MASK)] | None = None
    message: Annotated[int, whole(0, (1 << 31) - 1)] | None = None
    packet: Annotated[int | None, whole_or("last", -1, 0, 1023)] = None
    attempt: Annotated[int, whole(1, 1_000_000)] | None = None
    rank: Annotated[int, whole(0, MAX_RANKS - 1)] | None = None

    def value(self) -> Match:
        opcodes, syndrome = self.opcode
        return Match(
            opcodes=opcodes or None,
            syndrome=self.syndrome if syndrome is None else syndrome,
            psn_offset=self.psn_offset,
            message=self.message,
            packet=self.packet,
            attempt=self.attempt,
            source_rank=self.rank,
        )


class _FaultKeys(Section):
    kind: TextKey
    name: WordKey | None = None
    start: DurationKey = Field(default=0, alias="from")
    until: DurationKey | None = None

    def window(self) -> Window:
        return Window(self.start, self.until)


class _LinkFaultKeys(_FaultKeys):
    links: LinksKey = None
    direction: DirectionsKey = DIRECTIONS


class _PacketFaultKeys(_LinkFaultKeys):
    rate: ProbabilityKey = 1.0
    match: Any = None


class _DropKeys(_PacketFaultKeys):
    match: Any


class _LossKeys(_PacketFaultKeys):
    rate: ProbabilityKey


class _BurstKeys(_LossKeys):
    recover: ProbabilityKey = 0.25
    loss_bad: ProbabilityKey = 1.0
    loss_good: ProbabilityKey = 0.0


class _CorruptKeys(_PacketFaultKeys):
    repair_icrc: BoolKey = False
    bit: Annotated[int, whole(0, 4096 * 8 - 1)] | None = None


class _DuplicateKeys(_PacketFaultKeys):
    delay: DurationKey = 0


class _ReorderKeys(_PacketFaultKeys):
    delay: DurationKey = 3_000_000


class _DelayKeys(_PacketFaultKeys):
    delay: DurationKey
    jitter: DurationKey = 0


class _ForgeKeys(_PacketFaultKeys):
    what: Annotated[str, choice(FORGERIES)]
    before: BoolKey = False
    delay: DurationKey = 0


class _LinkDownKeys(_LinkFaultKeys):
    count: Annotated[int, whole(1, 10_000)] = 1
    period: DurationKey = 0


class _RateChangeKeys(_LinkFaultKeys):
    rate: BandwidthKey


class _KillKeys(_FaultKeys):
    node: TextKey


class _PauseKeys(_KillKeys):
    until: DurationKey


Builder = Callable[[Any, str, tuple[str, ...], Match], Fault]


@dataclass(frozen=True, slots=True)
class FaultKind:
    """One word of `faults[].kind`."""

    meaning: str
    keys: type[_FaultKeys]
    build: Builder
    """(keys, name, links, match) -> value"""


def _common(k: Any, links: tuple[str, ...]) -> dict[str, Any]:
    directions: tuple[Direction, ...] = k.direction
    return {"links": links, "directions": directions, "window": k.window()}


def _packet(cls: type[PacketFault], **fields: str) -> Builder:
    """`fields`: value's field -> key."""

    def build(k: Any, name: str, links: tuple[str, ...], match: Match) -> Fault:
        more = {field: getattr(k, key) for field, key in fields.items()}
        return cls(name, **_common(k, links), rate=k.rate, match=match, **more)

    return build


def _link_down(k: Any, name: str, links: tuple[str, ...], match: Match) -> Fault:
    return LinkDown(name, **_common(k, links), count=k.count, period_ns=k.period)


def _rate_change(k: Any, name: str, links: tuple[str, ...], match: Match) -> Fault:
    return RateChange(name, **_common(k, links), rate_bps=k.rate)


def _node(cls: type[Kill | Pause]) -> Builder:
    return lambda k, name, links, match: cls(name, node=k.node, window=k.window())


FAULT_KINDS: dict[str, FaultKind] = {
    "loss": FaultKind("each matching packet is lost with a probability", _LossKeys, _packet(Loss)),
    "burst": FaultKind(
        "Gilbert-Elliott loss: packets are lost in bursts",
        _BurstKeys,
        _packet(Burst, recover="recover", loss_bad="loss_bad", loss_good="loss_good"),
    ),
    "drop": FaultKind("what matches is lost", _DropKeys, _packet(Drop)),
    "corrupt": FaultKind(
        "one bit flips, with or without a repaired iCRC",
        _CorruptKeys,
        _packet(Corrupt, repair_icrc="repair_icrc", bit="bit"),
    ),
    "duplicate": FaultKind("a second copy is delivered", _DuplicateKeys, _packet(Duplicate, delay_ns="delay")),
    "reorder": FaultKind("a packet is held back, others overtake it", _ReorderKeys, _packet(Reorder, delay_ns="delay")),
    "delay": FaultKind(
        "packets come later, in order", _DelayKeys, _packet(Delay, delay_ns="delay", jitter_ns="jitter")
    ),
    "ecn_mark": FaultKind("CE is set in the IP header", _PacketFaultKeys, _packet(EcnMark)),
    "forge": FaultKind(
        "a frame that no host sends comes beside the packet",
        _ForgeKeys,
        _packet(Forge, what="what", before="before", delay_ns="delay"),
    ),
    "link_down": FaultKind("everything on the link is lost for a while; repeated: a flap", _LinkDownKeys, _link_down),
    "rate_change": FaultKind("the link has another rate for a while", _RateChangeKeys, _rate_change),
    "kill": FaultKind("a node dies, and perhaps starts anew with empty state", _KillKeys, _node(Kill)),
    "pause": FaultKind("a node stands still for a while", _PauseKeys, _node(Pause)),
}
