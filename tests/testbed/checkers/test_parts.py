"""Verdicts on runs of several collectives: each is judged for itself, and what is wrong with one is told as its."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import pytest

from testbed.captures.capture import MemoryTap
from testbed.checkers import CheckContext, Checked, Checker, Skipped, judges_of, run_checks
from testbed.checkers.parts import merged, parts_of
from testbed.figures.jobs import job_metrics
from testbed.figures.metrics import metrics
from testbed.history import Record, sort_history
from testbed.history.verdict import CheckResult, Verdict
from testbed.plan import Plan, make_plan
from testbed.scenario import load_scenario
from testbed.worlds.simulated import simulate
from tests.support.records import event_with
from workloads.events import CollectiveCompleted

ATP, NETREDUCE = "mixed-atp-rabenseifner", "mixed-netreduce-ring"
SMALL = ("job.size=20kB", "beside.0.job.size=20kB", "beside.1.job.size=20kB")


@cache
def run(name: str) -> tuple[Plan, tuple[Record, ...], tuple[MemoryTap, ...]]:
    plan = make_plan(load_scenario(name, SMALL, world="simulated"))
    taps = {
        switch.name: MemoryTap(
            switch.name, [link.name for _, link, _ in sorted(plan.scenario.topology.ports(switch.name))]
        )
        for switch in plan.switches
    }
    return plan, tuple(sort_history(simulate(plan, taps))), tuple(taps.values())


def judged(name: str, change: Callable[[Record], Record] = lambda record: record, *more: Checker) -> Checked:
    plan, history, taps = run(name)
    context = CheckContext(plan, [change(record) for record in history], taps)
    return run_checks(context, (*judges_of(context), *more))


def lied(node: str) -> Callable[[Record], Record]:
    """That worker got another sum."""

    def change(record: Record) -> Record:
        wrong = record.node == node and isinstance(record.event, CollectiveCompleted)
        return event_with(record, sha256="0" * 64) if wrong else record

    return change


@pytest.mark.parametrize("name", [ATP, NETREDUCE])
def test_a_right_run_passes(name: str) -> None:
    found = {result.name: result for result in judged(name).results}
    assert {result.verdict for result in found.values()} == {Verdict.PASS}, found
    assert {"bit_exact", "exactly_once", "liveness", "transparency", "faults_exercised"} <= set(found)


@pytest.mark.parametrize(
    ("name", "host", "whose"),
    [(ATP, "h3", "atp"), (ATP, "h7", "rabenseifner"), (ATP, "h14", "repair"), (NETREDUCE, "h2", "netreduce"),
     (NETREDUCE, "h6", "ring"), (NETREDUCE, "h10", "binomial_tree")],
)  # fmt: skip
def test_a_wrong_sum_is_found_and_told_as_that_of_its_collective(name: str, host: str, whose: str) -> None:
    (result,) = [result for result in judged(name, lied(host)).results if result.name == "bit_exact"]
    assert result.verdict is Verdict.FAIL
    wrong = [part for part in result.detail.split("; ") if "all " not in part]
    assert any(part.startswith(f"{whose}: ") for part in wrong), result.detail
    assert any(line.startswith(f"{whose}: ") for line in result.evidence)


def test_each_collective_sees_its_own_hosts_and_only_the_first_what_the_switch_program_tells() -> None:
    plan, history, taps = run(ATP)
    parts = parts_of(CheckContext(plan, history, taps))
    assert list(parts) == ["atp", "rabenseifner", "repair"]
    everybody = {host.name for host in plan.hosts}
    for name, context in parts.items():
        own = {host.name for host in context.plan.hosts}
        assert {record.node for record in context.history} & everybody == own
        told = {record.name for record in context.history if record.node == "s1"}
        assert ("MemoryAtEnd" in told) == (name == "atp")
        assert "FaultStruck" in told


def test_captures_of_a_collective_leave_out_the_frames_of_the_others() -> None:
    plan, history, taps = run(NETREDUCE)
    parts = parts_of(CheckContext(plan, history, taps))
    seen = [{frame.frame[26:30] for _, frame in context.captures[0].read()} for context in parts.values()]
    ips = [{plan.scenario.topology.node(host.name).ip for host in part.hosts} for part in plan.parts]
    assert seen == ips
    frames = sum(len(list(context.captures[0].read())) for context in parts.values())
    assert frames == len(list(taps[0].read()))


def test_two_jobs_of_one_collective_that_stand_apart_have_names_of_their_own() -> None:
    other = "{job: {protocol: ring, hosts: [%s], size: 4kB}}"
    beside = f"beside=[{other % 'h5, h6, h7'}, {other % 'h8, h9, h10'}]"
    plan = make_plan(load_scenario(NETREDUCE, ["job.size=4kB", beside]))
    assert list(parts_of(CheckContext(plan, []))) == ["netreduce", "ring", "ring 2"]


def test_checkers_of_a_protocol_judge_its_jobs_alone() -> None:
    (result,) = [result for result in judged(ATP).results if result.name == "link_bytes"]
    assert result.detail.startswith("repair: as the code says")
    assert "atp" not in result.detail


def test_a_checker_of_nobody_judges_all_of_them_or_the_run() -> None:
    def count(context: CheckContext) -> CheckResult:
        return CheckResult("count", Verdict.PASS, str(len(context.plan.workers)))

    each = judged(NETREDUCE, lambda record: record, Checker("count", count, "")).results[-1]
    assert each.detail == "netreduce: 4; ring: 3; binomial_tree: 3"
    whole = judged(NETREDUCE, lambda record: record, Checker("count", count, "", of_run=True)).results[-1]
    assert whole.detail == "10"


def test_a_check_that_applies_to_none_of_them_is_skipped_with_every_reason_once() -> None:
    def skip(context: CheckContext) -> str:
        return "no " + context.plan.scenario.job.protocol[:1]

    checker = Checker("never", lambda context: CheckResult("never", Verdict.FAIL, ""), "", skip)
    assert judged(NETREDUCE, lambda record: record, checker).skipped[-1] == Skipped("never", "no n; no r; no b")


def test_a_checker_that_fails_itself_leaves_one_collective_unknown() -> None:
    def broken(context: CheckContext) -> CheckResult:
        if context.plan.scenario.job.protocol == "ring":
            raise ValueError("oh")
        return CheckResult("broken", Verdict.PASS, "good")

    result = judged(NETREDUCE, lambda record: record, Checker("broken", broken, "")).results[-1]
    assert result.verdict is Verdict.UNKNOWN
    assert "ring: the checker itself failed: ValueError: oh" in result.detail


def test_the_heaviest_verdict_is_that_of_all() -> None:
    def of(verdict: Verdict) -> CheckResult:
        return CheckResult("c", verdict, "d", ("e",))

    result = merged({"a": of(Verdict.PASS), "b": of(Verdict.FAIL), "c": of(Verdict.UNKNOWN)})
    assert result == CheckResult("c", Verdict.FAIL, "a: d; b: d; c: d", ("a: e", "b: e", "c: e"))
    assert merged({"a": of(Verdict.PASS)}) == CheckResult("c", Verdict.PASS, "a: d", ("e",))


def _jobs(name: str) -> dict[str, Any]:
    plan, history, taps = run(name)
    found = job_metrics(CheckContext(plan, history, taps))
    assert found is not None
    return found


def test_every_job_has_the_figures_of_jobs() -> None:
    found = _jobs(ATP)
    assert [(job["job"], job["name"], job["protocol"]) for job in found["each"]] == [
        (1, "left", "atp"), (2, "right", "atp"), (3, "rabenseifner", "rabenseifner"), (4, "repair", "repair"),
    ]  # fmt: skip
    for job in found["each"]:
        bits = 8 * job["gradient_bytes"] * len(job["iterations_s"])
        assert job["goodput_bps"] == pytest.approx(bits / job["jct_s"])
        assert sum(job["iterations_s"]) == pytest.approx(job["jct_s"])
    assert found["makespan_s"] == max(job["jct_s"] for job in found["each"])
    assert found["busy"] == sum(job["busy"] for job in found["each"][:2]) > found["useful"]
    assert [job["switch_completed"] is None for job in found["each"]] == [False, False, True, True]


def test_packets_that_connections_sent_again_count_for_their_job() -> None:
    plan, history, taps = run(NETREDUCE)
    values = metrics(CheckContext(plan, history, taps))
    resends = [job["resends"] for job in values["jobs"]["each"]]
    assert sum(resends) == values["retransmissions"]["packets"] > 0
    assert (values["goodput_bps"], values["bound_bps"], values["jobs"]["memory_values"]) == (None, None, 0)


@pytest.mark.parametrize("controlled", ["transport", "beside.0.transport"])
def test_the_collective_that_is_slowed_down_has_the_figures_of_congestion(controlled: str) -> None:
    more = [f"{controlled}.congestion_control=dcqcn", "topology.link.ecn_threshold=20", "faults=[]"]
    plan = make_plan(load_scenario(NETREDUCE, [*SMALL, *more], world="simulated"))
    found = metrics(CheckContext(plan, sort_history(simulate(plan))))["congestion"]
    hosts = {worker.name for worker in plan.parts[controlled != "transport"].workers}
    assert set(found["rates"]) == hosts
