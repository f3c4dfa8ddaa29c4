"""A third opinion on captures, in addition to our codec and that of the device: scapy's dissector and its iCRC.

scapy takes a millisecond per frame, so it sees only the first frames of a capture. Of the rest it sees those that
repeat a PSN (retransmissions and a fault's duplicates), up to a bound.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from testbed.captures.pcapng import CapturedFrame, read_capture
from testbed.history.verdict import CheckResult, Verdict
from workloads.rc.captured import MalformedFrame, RoceFrame, parse_frame

__all__ = ["Opinion", "choose_frames", "load_scapy", "scapy_agrees", "scapy_opinion"]

FIRST_FRAMES, AGAIN_FRAMES = 100, 150
_REMEDY = "pip install scapy==2.8.0"


@dataclass(frozen=True, slots=True)
class Opinion:
    """What a dissector reads in one frame."""

    opcode: int
    psn: int
    dest_qpn: int
    icrc_valid: bool


def choose_frames(
    captured: Iterable[CapturedFrame], first: int = FIRST_FRAMES, again: int = AGAIN_FRAMES
) -> Iterator[tuple[int, bytes, RoceFrame]]:
    """(number in the capture from 1, bytes, our reading) of well-formed RoCE frames. These are the first `first`, then
    up to `again` frames whose opcode and PSN went by on that connection, port and direction before."""
    seen: set[tuple[object, ...]] = set()
    for number, one in enumerate(captured, start=1):
        if first <= 0 and again <= 0:
            return
        try:
            ours = parse_frame(one.frame)
        except MalformedFrame:
            continue
        if ours is None:
            continue
        key = (one.interface, one.outgoing, ours.connection, ours.opcode, ours.psn)
        repeated = key in seen
        seen.add(key)
        if first > 0:
            first -= 1
        elif repeated and again > 0:
            again -= 1
        else:
            continue
        yield number, one.frame, ours


def load_scapy() -> None:
    """Load it now, which takes a second, so that processes that are forked later need not. Nothing where there is
    none."""
    with contextlib.suppress(ImportError):
        scapy_opinion(bytes(64))


def scapy_opinion(frame: bytes) -> Opinion | None:
    """None: scapy sees no RoCE v2 in it. Raises ImportError where there is no scapy."""
    from scapy.contrib.roce import BTH
    from scapy.layers.l2 import Ether

    bth = Ether(frame).getlayer(BTH)
    if bth is None:
        return None
    transport = bytes(bth)
    valid = bth.compute_icrc(transport[:-4]) == transport[-4:]
    return Opinion(int(bth.opcode), int(bth.psn), int(bth.dqpn), valid)


def scapy_agrees(
    captures: Iterable[Path], opinion: Callable[[bytes], Opinion | None] = scapy_opinion
) -> CheckResult | None:
    """Whether scapy reads what we read, and calls the same iCRCs right and the same ones wrong. None without a capture,
    unknown without scapy or without a RoCE frame."""
    paths = [path for path in captures if path.exists()]
    if not paths:
        return None
    looked, wrong = 0, 0
    for path in paths:
        for number, frame, ours in choose_frames(read_capture(path)):
            try:
                theirs = opinion(frame)
            except ImportError as error:
                return CheckResult("scapy", Verdict.UNKNOWN, f"scapy cannot be asked ({error}); {_REMEDY}")
            looked += 1
            wrong += not ours.icrc_valid
            mine = Opinion(ours.opcode, ours.psn, ours.connection[2], ours.icrc_valid)
            if theirs != mine:
                detail = f"frame {number} of {path.name}: scapy reads {theirs}, we read {mine}"
                return CheckResult("scapy", Verdict.FAIL, detail)
    if not looked:
        return CheckResult("scapy", Verdict.UNKNOWN, "no RoCE frame was captured")
    return CheckResult("scapy", Verdict.PASS, f"agrees on {looked} frames, {wrong} of them with a wrong iCRC")
