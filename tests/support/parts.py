"""Parts of the job completion time of a simulated run."""

from __future__ import annotations

from testbed.captures.capture import MemoryTap
from testbed.checkers.context import CheckContext
from testbed.figures.metrics import metrics
from testbed.history import sort_history
from testbed.jct import JctParts, jct_parts
from testbed.plan import make_plan
from testbed.scenario.model import Scenario
from testbed.worlds.simulated.world import simulate
from workloads.events import CollectiveCompleted

__all__ = ["assert_sums", "simulated", "with_parts"]


def simulated(scenario: Scenario, *, captures: bool = True) -> CheckContext:
    """One run, with the captures of its switches in memory."""
    plan = make_plan(scenario)
    taps = {
        config.name: MemoryTap(config.name, [link.name for _, link, _ in sorted(scenario.topology.ports(config.name))])
        for config in plan.switches
    }
    history = sort_history(simulate(plan, taps))
    return CheckContext(plan, history, tuple(taps.values()) if captures else ())


def with_parts(scenario: Scenario) -> tuple[CheckContext, JctParts]:
    context = simulated(scenario)
    return context, jct_parts(context)


def assert_sums(context: CheckContext, parts: JctParts) -> None:
    """The parts of the path are the JCT, those of each worker the JCT of its job, and no part is negative."""
    jct_s = metrics(context)["jct_s"]
    assert sum(parts.path.values()) == round(jct_s * 1e9)
    assert min(parts.path.values()) >= 0
    assert parts.workers.keys() == set(context.workers)
    ends = dict[str, int]()
    for done in context.events(CollectiveCompleted):
        ends[done.node] = max(ends.get(done.node, 0), done.event.completed_ns)
    for workers in (each for part in context.plan.parts for each in part.groups.values()):
        ended = max(ends[worker.name] for worker in workers)
        for worker in workers:
            own = parts.workers[worker.name]
            assert min(own.values()) >= 0, worker.name
            assert sum(own.values()) == ended - worker.workload.arrival_ns, worker.name
