"""Packets come later, in order."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated

from testbed.faults.base import PacketFault
from testbed.faults.copies import Copies, Copy, Seen, jittered, strikes
from testbed.faults.decide import Purpose, draw
from testbed.faults.kind import Dice, Drawn, FaultKind
from testbed.reading.fields import DurationKey
from testbed.reading.sections import Key
from testbed.reading.units import format_duration

__all__ = ["KIND", "Delay"]


@dataclass(frozen=True, slots=True)
class Delay(PacketFault):
    """Delay every matching packet, in order."""

    delay_ns: Annotated[DurationKey, Key(required=True)] = 0
    """how much later packets come"""
    jitter_ns: DurationKey = 0
    """uniform around the delay, at most the delay"""


def _act(fault: Delay, stream: int, seen: Seen, copy: Copy, _: int) -> Copies:
    if not strikes(fault, stream, seen, copy):
        return None
    delay = fault.delay_ns
    if fault.jitter_ns:
        number = draw(stream, seen.identity.key, seen.occurrence, copy.number, Purpose.JITTER)
        delay = jittered(delay, fault.jitter_ns, number)
    if not delay:
        return None
    return (replace(copy, delay_ns=copy.delay_ns + delay),)


def _draw(dice: Dice, name: str) -> Delay:
    delay = dice.hold(dice.delay_share)
    return Delay(
        name, *dice.where(), dice.maybe(), dice.match(), dice.rate(0.1, 1.0), delay, dice.draw.randint(0, delay)
    )


KIND = FaultKind(
    word="delay",
    value=Delay,
    meaning="packets come later, in order",
    healing="later frames wait until the delayed ones have left, then the link is as fast as before",
    act=_act,
    native=7,
    why_not_in_kernel=lambda fault: "eBPF cannot hold a packet back",
    delays=True,
    one_figure=True,
    describe=lambda fault: format_duration(fault.delay_ns),
    drawn=Drawn(_draw, roce=5, datagrams=5, grid=5, once=True),
)
