"""EmulatedLooks at the queues of a running network, and at what its switches hold."""

from __future__ import annotations

import time
from collections.abc import Callable

from switch_nodes.dataplane.clock import EmulatedClock
from testbed.history.events import QueuesSampled
from testbed.worlds.emulated.fleet import Fleet
from testbed.worlds.emulated.network import Network
from testbed.worlds.sampling import Sampler, port_names
from workloads.machine import Event

__all__ = ["EmulatedLooks"]

_LEAST_NS = 20_000_000
"""real time from one look to the next"""
_SHARE = 50
"""of processor time: a look takes at most the fiftieth part of the time until the next one"""
_NEVER = 1 << 62


class EmulatedLooks:
    """`every_ns`: as `sample_interval_ns`. Commodity switches have queues, too."""

    def __init__(
        self, every_ns: int, network: Network, fleet: Fleet, clock: EmulatedClock, tell: Callable[[Event], None]
    ) -> None:
        self._network, self._fleet, self._clock, self._tell = network, fleet, clock, tell
        self._sampler = Sampler(max(every_ns, clock.emulated(_LEAST_NS))) if every_ns else None
        topology = network.topology
        self._names = {switch.name: port_names(topology, switch.name) for switch in topology.switches}

    @property
    def due_ns(self) -> int:
        return _NEVER if self._sampler is None else self._sampler.due_ns

    def look(self, now: int) -> None:
        """Take a sample, if its time has come."""
        sampler = self._sampler
        if sampler is None or now < sampler.due_ns:
            return
        began = time.thread_time_ns()
        waiting = {
            names[port]: frames
            for switch, names in self._names.items()
            for port, frames in self._network.waiting(switch).items()
            if frames
        }
        self._fleet.sample()
        if not self._network.lossless:  # where frames wait in the nodes
            self._tell(QueuesSampled(sampler.interval_ns, waiting))
        sampler.looked(now + _SHARE * self._clock.emulated(time.thread_time_ns() - began))
