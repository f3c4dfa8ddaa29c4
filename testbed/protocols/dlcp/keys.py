"""The keys that protocol `dlcp` adds to `job`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from testbed.reading.fields import ProbabilityKey, SpanKey, choice
from testbed.reading.sections import Section
from workloads.dlcp.config import OVER

__all__ = ["DlcpKeys"]

_SERVER, _RING, _SWITCHES = OVER


@dataclass(frozen=True, slots=True)
class DlcpKeys(Section):
    """How much of a gradient may be missing, and which packets may be lost first."""

    over: Annotated[str, choice(OVER)] = _SERVER
    """`ps`: the last host sums; `ina`: switches (program `dlcp`) add on the way what hosts at their ports send to it;
    `ring`: every step of a ring all-reduce is a flow with that bound"""
    loss_bound: ProbabilityKey = 0.01
    """p, below 1: a flow of M packets ends when ceil((1 - p) M) of them are there; what is missing counts as 0"""
    important: ProbabilityKey = 0.5
    """share of the packets of a flow, those with the largest elements, that is of the high class; queues that look at
    classes drop the others early"""
    slot_timer_ns: SpanKey = None
    """over `ina`: how long a switch waits for other workers before it sends on what it has; above 0. `auto`: an eighth
    of `transport.rto`"""

    @property
    def adds(self) -> bool:
        """Switches do."""
        return self.over == _SWITCHES

    @property
    def rings(self) -> bool:
        """There is no server."""
        return self.over == _RING
