"""The explanation of a stalled job: the job runs again in virtual time, and its Machines are asked at the end."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from switch_nodes.registry import create_program
from testbed.explain.contract import NodeWait
from testbed.explain.graph import circle_in, ends_of
from testbed.explain.smallest import Smallest, smallest_faults
from testbed.faults.events import FaultStruck
from testbed.faults.healing import is_active
from testbed.faults.model import Kill, LinkDown, Pause
from testbed.history import Record, sort_history
from testbed.plan import Plan, make_plan
from testbed.scenario import Scenario
from testbed.worlds.simulated import Simulation, make_worker
from testbed.worlds.simulated.world import ProgramFactory, WorkerFactory
from workloads.events import WorkerFailed

__all__ = ["Explanation", "explain"]

Waits = Callable[[Mapping[str, object], Plan], Iterable[NodeWait]]
"""as `Protocol.waits`"""


@dataclass(frozen=True, slots=True)
class Explanation:
    stalled: tuple[str, ...]
    """workers that did not finish; empty: the job does not stall in virtual time"""
    at_ns: int
    """when nothing went on any more, or the time limit, since the start of the traffic"""
    gave_up: tuple[str, ...]
    """why workers gave up"""
    waits: tuple[NodeWait, ...]
    circle: tuple[NodeWait, ...]
    """empty: there is none"""
    ends: tuple[str, ...]
    """nodes that all others wait for in the end"""
    out_of_order: Mapping[str, str]
    """node or link -> what a fault does to it at the end"""
    smallest: Smallest
    scenario: Scenario
    """with the smallest set of faults"""


@dataclass(frozen=True, slots=True)
class _Ended:
    """A run, and what is left of it."""

    plan: Plan
    history: list[Record]
    machines: Mapping[str, object]
    stalled: tuple[str, ...]
    at_ns: int


def explain(
    scenario: Scenario,
    waits_of: Waits,
    create: ProgramFactory = create_program,
    employ: WorkerFactory = make_worker,
) -> Explanation:
    """Run the scenario in virtual time, find the smallest set of faults that stalls it, and ask what nodes wait for."""
    ended = _run(scenario, create, employ)
    if not ended.stalled:
        return Explanation((), ended.at_ns, (), (), (), (), {}, Smallest(scenario.faults, 0, True), scenario)
    found = smallest_faults(scenario, ended.history, lambda other: bool(_run(other, create, employ).stalled))
    least = replace(scenario, faults=found.faults)
    ended = _run(least, create, employ)
    waits = tuple(waits_of(ended.machines, ended.plan))
    gave_up = tuple(
        f"{record.node} gave up: {record.event.reason}: {record.event.detail}"
        for record in ended.history
        if isinstance(record.event, WorkerFailed)
    )
    return Explanation(
        ended.stalled,
        ended.at_ns,
        gave_up,
        waits,
        tuple(circle_in(waits, ended.stalled)),
        tuple(ends_of(waits, ended.stalled)),
        _out_of_order(least, ended),
        found,
        least,
    )


def _run(scenario: Scenario, create: ProgramFactory, employ: WorkerFactory) -> _Ended:
    plan, records = make_plan(scenario), list[Record]()
    simulation = Simulation(plan, records.append, None, create, employ, native=False)
    simulation.run()
    machines = {name: _inner(node.machine) for name, node in simulation.nodes.items() if node.alive}
    failed = {record.node for record in records if isinstance(record.event, WorkerFailed)}
    stalled = tuple(
        worker.name
        for worker in plan.workers
        if worker.name in simulation.unfinished
        or worker.name in failed
        or worker.name not in machines
        or not getattr(machines[worker.name], "finished", True)
    )
    return _Ended(plan, sort_history(records), machines, stalled, simulation.agenda.now)


def _inner(machine: object) -> object:
    """Without what a world puts around it: a clock, background traffic."""
    while (inside := getattr(machine, "machine", None)) is not None:
        machine = inside
    return machine


def _out_of_order(scenario: Scenario, ended: _Ended) -> dict[str, str]:
    """What faults keep from working at the end."""
    hit = {record.event.fault for record in ended.history if isinstance(record.event, FaultStruck)}
    found: dict[str, str] = {}
    for fault in scenario.faults:
        if fault.name not in hit or not is_active(fault, ended.at_ns):
            continue
        if isinstance(fault, Kill):
            found[fault.node] = f"is dead (fault {fault.name})"
        elif isinstance(fault, Pause):
            found[fault.node] = f"stands still (fault {fault.name})"
        elif isinstance(fault, LinkDown):
            found |= dict.fromkeys(fault.links, f"is down (fault {fault.name})")
    return found
