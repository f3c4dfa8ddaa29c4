"""Real frames, as each node of a simulated run heard them."""

from __future__ import annotations

from collections import defaultdict
from functools import cache

from switch_nodes.tap import Tap
from testbed.plan import Plan, make_plan
from testbed.scenario import load_scenario
from testbed.worlds.simulated.world import Simulation
from tests.sanitized.mutants import Stream
from workloads.machine import Buffer, FrameBatch

__all__ = ["plan_of", "streams_of"]

_MOST = 6000
"""frames that are kept of a node"""


class _Listener(Tap):
    def __init__(self) -> None:
        self.heard: dict[bool, list[tuple[int, bytes]]] = defaultdict(list)

    def record(self, batch: FrameBatch, start: int, stop: int, now: int, outgoing: bool) -> None:
        self.heard[outgoing] += [(int(batch.ports[i]), bytes(batch.row(i))) for i in range(start, stop)]

    def dropped(self, port: int, frame: Buffer, now: int, outgoing: bool, reason: str) -> None: ...

    def trimmed(self, port: int, frame: Buffer, now: int) -> None: ...

    def close(self) -> None: ...


@cache
def plan_of(scenario: str) -> Plan:
    """The plan of a built-in scenario; words behind its name change it."""
    name, *changes = scenario.split()
    return make_plan(load_scenario(name, changes))


@cache
def streams_of(scenario: str) -> dict[str, Stream]:
    """Node -> what it heard in a run of that scenario; hosts hear what switches sent them."""
    plan = plan_of(scenario)
    taps = {config.name: _Listener() for config in plan.switches}
    Simulation(plan, lambda record: None, taps).run()
    heard = {name: tap.heard[False] for name, tap in taps.items()}
    for link in plan.scenario.topology.links:
        for here, port, far in ((link.a, link.a_port, link.b), (link.b, link.b_port, link.a)):
            if here in taps and far not in taps:
                heard[far] = [(0, frame) for at, frame in taps[here].heard[True] if at == port]
    return {
        name: Stream([frame for _, frame in found[:_MOST]], [port for port, _ in found[:_MOST]])
        for name, found in heard.items()
        if found
    }
