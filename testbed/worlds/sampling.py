"""When a world looks at its queues, slots and marks: often enough for a picture, seldom enough to cost a run next to
nothing."""

from __future__ import annotations

import math

from testbed.plan import Plan
from testbed.plan.paths import ELEMENT_BYTES
from topologies import DIRECTIONS, Topology

__all__ = ["Sampler", "port_names", "sample_interval_ns"]

_LOOKS = 100
"""in the time that the gradients alone take on a worker's link"""
_LEAST_NS = 1_000
_MOST = 200
"""looks at one interval; a run that goes on gets twice the interval"""


def sample_interval_ns(plan: Plan) -> int:
    """The first interval of a run (key `sample_every`): 1, 2 or 5 times a power of ten ns where the scenario leaves it
    to us; 0: none."""
    scenario = plan.scenario
    if scenario.sample_every_ns is not None:
        return scenario.sample_every_ns
    bits = max(8 * ELEMENT_BYTES * each.workload.elements * each.workload.iterations for each in plan.workers)
    rate_bps = min(link.shape.rate_bps for link in scenario.topology.links)
    least_ns = max(_LEAST_NS, bits * 10**9 // rate_bps // _LOOKS)
    power: int = 10 ** math.floor(math.log10(least_ns))
    return next(power * factor for factor in (1, 2, 5, 10) if power * factor >= least_ns)


class Sampler:
    """The times of looks: multiples of `interval_ns`, which doubles with every 200 of them, so that a run that stalls
    does not fill its history with them."""

    def __init__(self, interval_ns: int) -> None:
        self.interval_ns = interval_ns
        self.due_ns = interval_ns
        self._looks = 0

    def looked(self, next_ns: int) -> None:
        """One look was taken; nothing changes, or none can be afforded, before `next_ns`."""
        self._looks += 1
        if self._looks % _MOST == 0:
            self.interval_ns *= 2
        earliest = max(next_ns, self.due_ns + 1)
        self.due_ns = -(-earliest // self.interval_ns) * self.interval_ns


def port_names(topology: Topology, switch: str) -> dict[int, str]:
    """By port: `LINK DIRECTION` that leaves there."""
    return {
        port: f"{link.name} {next(other for other in DIRECTIONS if other is not entering)}"
        for port, link, entering in topology.ports(switch)
    }
