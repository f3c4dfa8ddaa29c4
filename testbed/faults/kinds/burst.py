"""Gilbert-Elliott loss: packets are lost in bursts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from testbed.faults.base import PacketFault
from testbed.faults.copies import Copies, Copy, Seen
from testbed.faults.decide import Purpose, below, burst_is_bad, draw, threshold
from testbed.faults.kind import Dice, Drawn, FaultKind
from testbed.reading.fields import ProbabilityKey
from testbed.reading.sections import Key
from testbed.reading.units import format_probability

__all__ = ["KIND", "Burst"]


@dataclass(frozen=True, slots=True)
class Burst(PacketFault):
    """Gilbert-Elliott loss: `rate` is the chance to enter the bad state per packet."""

    rate: Annotated[ProbabilityKey, Key(required=True, title="Rate of loss bursts")] = 1.0
    """chance per packet to enter the bad state"""
    recover: ProbabilityKey = 0.25
    """chance per packet to leave the bad state: mean burst 1/recover"""
    loss_bad: ProbabilityKey = 1.0
    """chance that a packet is lost in the bad state"""
    loss_good: ProbabilityKey = 0.0
    """chance that a packet is lost in the good state"""


def _act(fault: Burst, stream: int, seen: Seen, copy: Copy, _: int) -> Copies:
    who, n = seen.identity, seen.occurrence
    bad = burst_is_bad(stream, who.flow, who.psn, n, copy.number, threshold(fault.rate), threshold(fault.recover))
    number = draw(stream, who.key, n, copy.number, Purpose.BURST_LOSS)
    return () if below(number, threshold(fault.loss_bad if bad else fault.loss_good)) else None


def _rule(fault: Burst) -> dict[str, int]:
    shares = {"recover": fault.recover, "loss_bad": fault.loss_bad, "loss_good": fault.loss_good}
    return {name: threshold(share) for name, share in shares.items()}


def _draw(dice: Dice, name: str) -> Burst:
    rate, recover = dice.rate(0.02, 0.5), dice.draw.randint(50, 900) / 1000
    bad, good = dice.draw.choice((1.0, 0.8)), dice.draw.choice((0.0, 0.0, 0.05))
    return Burst(name, *dice.where(), dice.window(), dice.match(), rate, recover, bad, good)


KIND = FaultKind(
    word="burst",
    value=Burst,
    meaning="Gilbert-Elliott loss: packets are lost in bursts",
    page="Gilbert-Elliott: `rate` is the chance per packet to enter the bad state",
    healing="frames pass again; RC resends what was lost",
    act=_act,
    native=2,
    rule=_rule,
    why_not_in_kernel=lambda fault: None,
    one_figure=True,
    describe=lambda fault: format_probability(fault.rate),
    takes_away=True,
    is_silent=lambda fault: fault.loss_good == 0 and (fault.rate == 0 or fault.loss_bad == 0),
    drawn=Drawn(_draw, roce=8, datagrams=9, grid=8, once=True),
)
