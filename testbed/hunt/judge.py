"""One schedule, run and judged by the stock checkers, all in memory."""

from __future__ import annotations

import traceback
from dataclasses import dataclass, replace

from switch_nodes.aggregators.tables import atp_knobs
from switch_nodes.config import SwitchConfig
from switch_nodes.events import ConnectionStepped, FrameStepped, SlotStepped
from switch_nodes.own_program import ProgramFailed
from switch_nodes.registry import create_program
from testbed.captures.capture import MemoryTap
from testbed.checkers import CheckContext, judges_of, run_checks
from testbed.checkers.of_protocol import checkers_of
from testbed.checkers.pfc_losses import explain_losses
from testbed.history import Record, sort_history
from testbed.history.verdict import CheckResult, Verdict
from testbed.hunt.aggregator_rules import AggregatorWatch, ServerWatch
from testbed.hunt.coverage import Coverage
from testbed.hunt.endpoint_rules import EndpointWatch
from testbed.hunt.expected import excused, may_fail
from testbed.hunt.pause_rules import broken_pause_rules
from testbed.hunt.plans import plan_of
from testbed.hunt.protocols import hunted_in
from testbed.hunt.schedule import Schedule
from testbed.hunt.slot_rules import broken_slot_rules
from testbed.hunt.tree_rules import TreeWatch
from testbed.hunt.watch import Tell, WatchedMachine
from testbed.kernel.apart import Ended, run_apart
from testbed.kernel.overdue import LIMIT_S
from testbed.plan import Plan
from testbed.scenario.model import Scenario
from testbed.scenario.own_program import ended_own_code, own_code
from testbed.worlds.simulated import make_worker, simulate
from testbed.worlds.simulated.finishing import FinishingMachine
from testbed.worlds.simulated.world import ProgramFactory, WorkerFactory
from workloads.config import NodeConfig, WorkerConfig
from workloads.datagrams.blocks import SlotChanged
from workloads.events import QpStepped
from workloads.server import ServerConfig

__all__ = ["CRASH", "SAME_TRACED", "CheckFailure", "Machines", "judge_and_keep", "judge_schedule", "run_and_judge"]

CRASH, SAME_TRACED = "no_exception", "same_when_traced"
"""checks of the hunt's own, in addition to the stock checks"""
_STEPS = (QpStepped, SlotStepped, ConnectionStepped, FrameStepped, SlotChanged)
_PASSED_OVER = "faults_exercised"
"""the check that a hunt ignores: a drawn fault need not hit anything, and the hunt counts those that do"""
_ENGAGES = "pfc_lossless"
"""the check that may be `unknown` in a hunt: a drawn fault may keep PFC from being needed. It may also fail, if faults
explain each loss"""
_CRASHED = "the checker itself failed"
_ENDS_EARLY = frozenset(
    {"liveness", "bit_exact", "exactly_once", "slots_private", "credit_bound", "transparency", "uplinks"}
)
"""checks that may say `unknown` (liveness: `fail`) when a failure is allowed, in addition to those of the protocol
itself"""


@dataclass(frozen=True, slots=True)
class CheckFailure:
    check: str
    detail: str


@dataclass(frozen=True, slots=True)
class Machines:
    """What runs: ours unless a test plants a bug."""

    create: ProgramFactory = create_program
    employ: WorkerFactory = make_worker


OURS = Machines()


def run_and_judge(scenario: Scenario, machines: Machines = OURS) -> tuple[CheckFailure | None, list[Record]]:
    """The first check that a run of `scenario` breaks, and the history in order (empty after an exception). Code of
    the user's own runs in a process of its own, which it may end."""
    if own_code(scenario) is None:
        return _run_and_judge(scenario, machines)
    try:
        return run_apart(lambda tell: _run_and_judge(scenario, machines), limit_s=LIMIT_S)
    except Ended as end:
        return CheckFailure(CRASH, ended_own_code(scenario, end.status, overdue=end.overdue).reason), []


def _run_and_judge(scenario: Scenario, machines: Machines) -> tuple[CheckFailure | None, list[Record]]:
    plan = plan_of(scenario)
    taps, broken = _taps(plan), list[CheckFailure]()
    if scenario.trace:
        machines = _watched(scenario, machines, lambda rule, what: broken.append(CheckFailure(rule, what)))
    try:
        history = sort_history(simulate(plan, taps, machines.create, machines.employ))
    except ProgramFailed as error:
        where = f"{str(error.file).rpartition('/')[2]}:{error.line} in {error.function}"
        return CheckFailure(CRASH, f"{error.reason} ({where})"), []
    except Exception as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{place.filename.rpartition('/')[2]}:{place.lineno} in {place.name}"
        return CheckFailure(CRASH, f"{type(error).__name__}: {error} ({where})"), []
    context = CheckContext(plan, history, tuple(taps.values()))
    among = [checker for checker in judges_of(context) if checker.name != _PASSED_OVER]
    bad = [result for result in run_checks(context, among).results if not _is_good(result, context)]
    bad.sort(key=lambda result: result.verdict is not Verdict.FAIL)  # what is unknown follows from what failed
    if bad:
        return CheckFailure(bad[0].name, bad[0].detail), history
    broken += (CheckFailure(*found) for found in broken_slot_rules(context))
    end = max((record.t for record in history), default=0)
    broken += (CheckFailure(*found) for found in broken_pause_rules(scenario, tuple(taps.values()), end))
    return (broken[0] if broken else None), history


def _watched(scenario: Scenario, machines: Machines, tell: Tell) -> Machines:
    """The same Machines, with somebody who looks on where there are rules of the hunt's own."""
    hunted = hunted_in(scenario)

    def employ(config: NodeConfig, start_ns: int) -> FinishingMachine:
        machine = machines.employ(config, start_ns)
        if isinstance(config, WorkerConfig) and not config.phases and config.fallback is None:
            return WatchedMachine(machine, EndpointWatch(config, tell))
        return WatchedMachine(machine, ServerWatch(config.name, tell)) if isinstance(config, ServerConfig) else machine

    def create(config: SwitchConfig) -> FinishingMachine:
        program: FinishingMachine = machines.create(config)
        if any(job.trees for job in config.jobs):
            program = WatchedMachine(program, TreeWatch(config, tell))
        if hunted is None or not hunted.server or not hunted.hunt.watches_slots:
            return program
        knobs = config.knobs if hunted.knobs else atp_knobs(config.knobs.reclaim)
        return WatchedMachine(program, AggregatorWatch(config, knobs, tell))

    return Machines(create, employ)


def judge_schedule(schedule: Schedule, machines: Machines = OURS) -> tuple[CheckFailure | None, Coverage]:
    """A traced schedule runs twice: the steps must be all that the trace adds."""
    failure, coverage, _ = judge_and_keep(schedule, machines, twice=schedule.scenario.trace)
    return failure, coverage


def judge_and_keep(
    schedule: Schedule, machines: Machines, *, twice: bool
) -> tuple[CheckFailure | None, Coverage, list[Record]]:
    """As `judge_schedule`, with the history. `twice`: the schedule is traced, and runs without the trace, too."""
    scenario, coverage = schedule.scenario, Coverage()
    failure, history = run_and_judge(scenario, machines)
    if twice and failure is None:
        plain = replace(scenario, trace=False)
        failure, again = run_and_judge(plain, machines)
        failure = failure or _compare(history, again)
    coverage.add(scenario, history)
    return failure, coverage, history


def _compare(traced: list[Record], plain: list[Record]) -> CheckFailure | None:
    without = [record for record in traced if not isinstance(record.event, _STEPS)]
    for old, new in zip(without, plain, strict=False):
        if old != new:
            return CheckFailure(SAME_TRACED, f"traced: {old}; untraced: {new}")
    if len(without) != len(plain):
        return CheckFailure(SAME_TRACED, f"{len(without)} records traced, {len(plain)} untraced")
    return None


def _taps(plan: Plan) -> dict[str, MemoryTap]:
    """A tap for each switch. Empty if nothing is captured."""
    topology = plan.scenario.topology
    if not plan.scenario.capture:
        return {}
    return {
        config.name: MemoryTap(config.name, [link.name for _, link, _ in sorted(topology.ports(config.name))])
        for config in plan.switches
    }


def _is_good(result: CheckResult, context: CheckContext) -> bool:
    """Whether a check passed. Where a failure is allowed, it may say anything but a wrong sum or a broken rule.

    Workers that did not finish have reported why, and a result that is not there cannot be compared.
    """
    if result.verdict is Verdict.PASS:
        return True
    if result.name == _ENGAGES:
        crashed = result.detail.startswith(_CRASHED)
        return not crashed and not explain_losses(context).unexplained
    scenario = context.plan.scenario
    own = {checker.name for checker in checkers_of(scenario.job.protocol)}
    if may_fail(scenario) is None or result.name not in _ENDS_EARLY | own:
        return False
    if result.name == "liveness":
        return set(context.workers) - context.finished <= excused(context.plan)
    return result.verdict is Verdict.UNKNOWN and not result.detail.startswith(_CRASHED)
