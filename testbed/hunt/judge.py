"""One schedule, run and judged by the stock checkers, all in memory."""

from __future__ import annotations

import traceback
from dataclasses import dataclass, replace

from switch_nodes.own_program import ProgramFailed
from switch_nodes.registry import create_program
from testbed.captures.capture import MemoryTap
from testbed.checkers import CheckContext, checkers, run_checks
from testbed.history import Record, sort_history
from testbed.history.verdict import CheckResult, Verdict
from testbed.hunt.coverage import Coverage
from testbed.hunt.fate import excused, may_fail
from testbed.hunt.schedule import Schedule
from testbed.hunt.slot_rules import broken_slot_rules
from testbed.plan import Plan, make_plan
from testbed.scenario.model import Scenario
from testbed.worlds.simulated import make_worker, simulate
from testbed.worlds.simulated.world import ProgramFactory, WorkerFactory

__all__ = ["CRASH", "SAME_TRACED", "Failure", "Machines", "judge_schedule", "run_and_judge"]

CRASH, SAME_TRACED = "no_exception", "same_when_traced"
"""checks of the hunt's own, beside the stock ones"""
_STEPS = frozenset({"QpStepped", "SlotStepped", "ConnectionStepped", "FrameStepped", "SlotChanged"})
_PASSED_OVER = "faults_exercised"
"""a drawn fault need not strike; the hunt counts those that do"""
_ENDS_EARLY = frozenset(
    {"liveness", "bit_exact", "exactly_once", "slots_private", "credit_bound", "transparency", "uplinks"}
)
"""checks that may say `unknown` (liveness: `fail`) when a failure is all right"""


@dataclass(frozen=True, slots=True)
class Failure:
    check: str
    detail: str


@dataclass(frozen=True, slots=True)
class Machines:
    """What runs: ours unless a test plants a bug."""

    create: ProgramFactory = create_program
    employ: WorkerFactory = make_worker


OURS = Machines()


def run_and_judge(scenario: Scenario, machines: Machines = OURS) -> tuple[Failure | None, list[Record]]:
    """The first check that a run of `scenario` breaks, and the history in order (empty after an exception)."""
    plan = make_plan(scenario)
    taps = _taps(plan)
    try:
        history = sort_history(simulate(plan, taps, machines.create, machines.employ))
    except ProgramFailed as error:
        where = f"{str(error.file).rpartition('/')[2]}:{error.line} in {error.function}"
        return Failure(CRASH, f"{error.reason} ({where})"), []
    except Exception as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{place.filename.rpartition('/')[2]}:{place.lineno} in {place.name}"
        return Failure(CRASH, f"{type(error).__name__}: {error} ({where})"), []
    context = CheckContext(plan, history, tuple(taps.values()))
    among = [checker for checker in checkers() if checker.name != _PASSED_OVER]
    bad = [result for result in run_checks(context, among).results if not _is_good(result, context)]
    bad.sort(key=lambda result: result.verdict is not Verdict.FAIL)  # what is unknown follows from what failed
    if bad:
        return Failure(bad[0].name, bad[0].detail), history
    broken = next(broken_slot_rules(context), None)
    return (None if broken is None else Failure(*broken)), history


def judge_schedule(schedule: Schedule, machines: Machines = OURS) -> tuple[Failure | None, Coverage]:
    """A traced schedule runs twice: the steps must be all that the trace adds."""
    scenario, coverage = schedule.scenario, Coverage()
    failure, history = run_and_judge(scenario, machines)
    if scenario.trace and failure is None:
        plain = replace(scenario, trace=False)
        failure, again = run_and_judge(plain, machines)
        failure = failure or _compare(history, again)
    coverage.add(scenario, history)
    return failure, coverage


def _compare(traced: list[Record], plain: list[Record]) -> Failure | None:
    without = [record for record in traced if record["event"] not in _STEPS]
    for old, new in zip(without, plain, strict=False):
        if old != new:
            return Failure(SAME_TRACED, f"traced: {old}; untraced: {new}")
    if len(without) != len(plain):
        return Failure(SAME_TRACED, f"{len(without)} records traced, {len(plain)} untraced")
    return None


def _taps(plan: Plan) -> dict[str, MemoryTap]:
    """None where nobody looks at what passed."""
    topology = plan.scenario.topology
    if not plan.scenario.capture:
        return {}
    return {
        config.name: MemoryTap(config.name, [link.name for _, link, _ in sorted(topology.ports(config.name))])
        for config in plan.switches
    }


def _is_good(result: CheckResult, context: CheckContext) -> bool:
    """Pass; or, where a failure is all right, anything but a wrong sum or a broken rule: who did not finish told why, and
    what is not there cannot be compared."""
    if result.verdict is Verdict.PASS:
        return True
    if may_fail(context.plan.scenario) is None or result.name not in _ENDS_EARLY:
        return False
    if result.name == "liveness":
        return set(context.workers) - context.finished <= excused(context.plan)
    return result.verdict is Verdict.UNKNOWN and not result.detail.startswith("the checker itself failed")
