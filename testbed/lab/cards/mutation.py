"""Golden traces with what no well-behaved host sends: frames that are lost, doubled, swapped, damaged, cut, marked, in
the wrong place, or of another connection. What a card does with them follows from the reference, as for any trace."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

from switch_nodes.fpga.golden import TimedFrame
from workloads.collectives.ina_header import INA_HEADER_BYTES
from workloads.rc.changes import changed, data_flow, moved
from workloads.wire.places import DST_MAC, IS_IPV4, IS_IPV6, SRC_MAC

__all__ = ["mutated"]

_RESENT = 12
"""packets that a host sends again on its new connection"""
_RECONNECTS = 0.4
"""share of traces with a connection that begins again"""


def mutated(inputs: Sequence[TimedFrame], ports: int, seed: int, *, share: float = 0.15) -> list[TimedFrame]:
    """The trace with a share of its frames changed, drawn from `seed`; times stay those of the frames. `ports`: of the
    switch."""
    dice = random.Random(seed)
    found: list[TimedFrame] = []
    for item in _reconnected(inputs, dice) if dice.random() < _RECONNECTS else inputs:
        if dice.random() >= share:
            found.append(item)
            continue
        kind = dice.randrange(10)
        if kind == 0:
            continue
        if kind == 1:
            found += [item, item]
        elif kind == 2 and found:
            found[-1:] = [replace(item, time_ns=found[-1].time_ns), replace(found[-1], time_ns=item.time_ns)]
        elif kind == 3:
            found.append(replace(item, port=dice.randrange(ports)))
        elif kind == 4:
            found += [replace(item, frame=_stranger(item.frame, dice)), item]
        elif kind == 5:
            found.append(replace(item, frame=_damaged(item.frame, dice)))
        else:
            other = replace(item, frame=_changed(item.frame, dice))
            # Also next to the packet as it should be: before or behind it.
            found += [other, item] if dice.random() < 0.5 else [item, other]
    return found


def _reconnected(inputs: Sequence[TimedFrame], dice: random.Random) -> list[TimedFrame]:
    """From some frame on, one connection has another QPN and other PSNs, as of a host that connected again. It sends
    its newest packets again first."""
    begin, jump, other = dice.randrange(len(inputs)), dice.randrange(1, 1 << 20), 1 << dice.randrange(24)
    chosen = next((flow for item in inputs[begin:] if (flow := data_flow(item.frame)) is not None), None)
    if chosen is None:
        return list(inputs)

    def again(item: TimedFrame) -> TimedFrame:
        if data_flow(item.frame) != chosen:
            return item
        return replace(item, frame=moved(item.frame, jump, other))

    before = [item for item in inputs[:begin] if data_flow(item.frame) == chosen][-_RESENT:]
    resent = [replace(again(item), time_ns=inputs[begin].time_ns) for item in before]
    return [*inputs[:begin], *resent, *(again(item) for item in inputs[begin:])]


def _damaged(frame: bytes, dice: random.Random) -> bytes:
    """Bits turned, bytes cut off, padding behind the packet."""
    kind = dice.randrange(4)
    if kind == 0:
        return frame + bytes(dice.randrange(256) for _ in range(dice.randrange(1, 20)))
    if kind == 1:
        return frame[: dice.randrange(1, len(frame) + 1)]
    data = bytearray(frame)
    at = dice.randrange(len(data)) if kind == 2 else dice.randrange(min(len(data), 86))
    data[at] ^= 1 << dice.randrange(8)
    return bytes(data)


def _stranger(frame: bytes, dice: random.Random) -> bytes:
    """A frame that is forwarded: to the addresses of this one, to an unknown address, to all, back to its sender."""
    source, destination = frame[SRC_MAC], frame[DST_MAC]
    far = bytes((2, 0, 0, 1, 0, dice.randrange(8)))
    to = dice.choice((destination, source, far, b"\xff" * 6, bytes.fromhex("0180c200000e"), b"\x01\0\x5e\0\0\1"))
    body = bytes(dice.randrange(256) for _ in range(dice.randrange(0, 90)))
    return to + dice.choice((source, far, to)) + dice.choice((b"\x08\x06", IS_IPV4, IS_IPV6)) + body


def _changed(frame: bytes, dice: random.Random) -> bytes:
    """Another packet with a right iCRC, or damage where the frame is no RoCE."""
    other = changed(frame, dice, INA_HEADER_BYTES)
    return _damaged(frame, dice) if other is None else other
