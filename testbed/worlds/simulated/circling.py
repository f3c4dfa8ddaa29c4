"""Frames that go round for ever between switches, while nothing else happens: found out, and named."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from switch_nodes.own_program import accused
from testbed.worlds.simulated.node import SimulatedNode
from topologies import Topology
from workloads.livelock import Livelock

__all__ = ["CirclingWatch"]

_MOST_FRAMES = 1 << 19
_TIMES_THROUGH = 8
"""times that all queues may empty over all hops, in addition to `_MOST_FRAMES`"""


class CirclingWatch:
    """Checks now and then whether switches send frames in a circle.

    They do when they pass on frames for longer than full queues last, while no host sends one and no node reports
    anything. The last argument counts the events that nodes have reported. Raises ProgramFailed or Livelock, about the
    switch that sent most.
    """

    def __init__(self, topology: Topology, nodes: Mapping[str, SimulatedNode], reported: Callable[[], int]) -> None:
        self._nodes, self._reported = nodes, reported
        self._switches = [node.name for node in topology.nodes if not nodes[node.name].is_host]
        self._most = _MOST_FRAMES + 2 * _TIMES_THROUGH * sum(link.shape.queue_packets for link in topology.links)
        self._seen, self._before = (-1, -1), dict.fromkeys(self._switches, 0)

    def look(self, now: int) -> None:
        sent = {name: node.frames_out for name, node in self._nodes.items()}
        switches = {name: sent[name] for name in self._switches}
        seen = sum(sent.values()) - sum(switches.values()), self._reported()
        if seen != self._seen:
            self._seen, self._before = seen, switches
            return
        since = {name: frames - self._before[name] for name, frames in switches.items()}
        if sum(since.values()) < self._most:
            return
        worst = max(since, key=lambda name: since[name])
        what = f"switches passed on {sum(since.values()):,} frames up to {now} ns, it {since[worst]:,} of them, "
        what += "and no host has sent any since they began"
        raise accused(Livelock(worst, what, is_host=False), self._nodes[worst].machine)
