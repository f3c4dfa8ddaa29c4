"""ATP and ESA in virtual time: scenarios as a user runs them."""

from __future__ import annotations

import pytest

from testbed.checkers import CheckContext, run_checks
from testbed.figures.jobs import job_metrics
from testbed.history import sort_history
from testbed.history.events import NodeExited, TimeLimitReached
from testbed.history.verdict import Verdict
from testbed.plan import make_plan
from testbed.scenario import load_scenario
from testbed.worlds.simulated import simulate
from testbed.worlds.simulated.world import Simulation
from workloads.datagrams.blocks import Collided, PartialSent, ServerStatistics
from workloads.events import DatagramResent, WorkerFailed, WorkerFinished

SMALL = ["job.size=40kB", "job.iterations=2"]
FABRIC = ["topology={kind: spine_leaf, leaves: 3, spines: 2, hosts_per_leaf: 3, link: {rate: 20Mbps}}"]
LOSS = ["faults=[{kind: loss, name: loss, links: all, direction: both, rate: 3%}]"]


def judged(name: str, overrides: list[str], seed: int = 1) -> CheckContext:
    plan = make_plan(load_scenario(name, overrides, seed=seed, world="simulated"))
    return CheckContext(plan, sort_history(simulate(plan)))


def assert_passes(context: CheckContext) -> None:
    assert {
        found.name: found.detail for found in run_checks(context).results if found.verdict is not Verdict.PASS
    } == {}


@pytest.mark.parametrize(
    ("name", "overrides"),
    [
        ("atp", ["job.dtype=int32"]),
        ("atp-lossy", ["job.quantisation=fixed:1e4"]),
        ("esa", ["job.quantisation=fixed:1e4", *FABRIC]),
        ("atp", ["switch.program=forward"]),
        ("esa", ["switch.program=forward", *LOSS]),
        ("atp", ["switch.memory=3"]),
        ("atp-lossy", []),
        ("atp-two-jobs", LOSS),
        ("esa-lossy", ["switch.knobs={free: ack}"]),
        ("esa-lossy", ["switch.knobs={ps_copy: false}", "switch.memory=5"]),
        ("esa-scarce", [*LOSS, "switch.knobs={age: shift1}"]),
        ("atp", [*FABRIC, *LOSS]),
        ("esa", [*FABRIC, *LOSS]),
    ],
)
def test_the_sums_are_right(name: str, overrides: list[str]) -> None:
    assert_passes(judged(name, [*SMALL, *overrides]))


def test_workers_in_step_do_not_meet_a_full_queue_for_ever() -> None:
    """Whoever comes last at a queue of three is turned away, and all wait equally long (found by the hunt)."""
    first = "faults=[{kind: drop, name: first, links: all, direction: both, match: {attempt: 1}}]"
    job = "jobs=[{hosts: [h3, h4, h2], server: h1, size: 780B, iterations: 2, window_packets: 4}]"
    rack = "topology={kind: rack, hosts: 4, link: {rate: 40Mbps, delay: 5us, queue: 3}}"
    knobs = ["switch={program: atp, memory: 1}", "transport={path_mtu: 256, rto: 8732800ns}"]
    assert_passes(judged("atp", [rack, *knobs, "job={protocol: atp, dtype: int32}", job, first]))


def test_a_real_model_trains() -> None:
    assert_passes(judged("atp", ["job={protocol: atp, workload: digits, iterations: 2}"]))


@pytest.mark.parametrize(("scale", "reason"), [("5e5", "overflow"), ("1e6", "unquantisable")])
def test_one_scale_may_be_too_large(scale: str, reason: str) -> None:
    """Values reach 4096; no switch and no server adds up what left its range in silence."""
    context = judged("atp", [*SMALL, f"job.quantisation=fixed:{scale}"])
    assert {record.event.reason for record in context.events(WorkerFailed)} == {reason}
    assert not context.events(WorkerFinished)


def test_collisions_go_to_the_server_and_move() -> None:
    context = judged("atp-two-jobs", SMALL)
    assert_passes(context)
    assert context.events(Collided)
    assert sum(told.event.moved for told in context.events(ServerStatistics)) > 0


def test_priority_takes_slots_away() -> None:
    context = judged("esa-scarce", [])
    assert any(record.event.reason == "evicted" for record in context.events(PartialSent))
    ends = {record.node: record.t for record in context.events(WorkerFinished)}
    assert max(ends["h3"], ends["h4"]) < min(ends["h1"], ends["h2"]), "the small job first"


@pytest.mark.parametrize("name", ["atp", "esa"])
def test_a_switch_that_loses_its_memory_costs_time_only(name: str) -> None:
    context = judged(name, [*SMALL, "faults=[{kind: kill, name: crash, node: s1, from: 10ms, until: 12ms}]"])
    assert_passes(context)
    assert context.events(DatagramResent)


@pytest.mark.parametrize("protocol", ["atp", "esa"])
def test_a_worker_that_leaves_ends_its_own_job_only(protocol: str) -> None:
    """What it left in slots is in nobody's way for long: others collide with it, and go to the server."""
    crash = "faults=[{kind: kill, name: crash, node: h1, from: 10ms}]"
    words = [f"job.protocol={protocol}", f"switch.program={protocol}", "time_limit=2s", crash]
    context = judged("atp-two-jobs", [*SMALL, *words])
    assert {record.node for record in context.events(WorkerFinished)} == {"h3", "h4"}
    verdicts = {found.name: found.verdict for found in run_checks(context).results}
    assert Verdict.FAIL not in (verdicts["exactly_once"], verdicts["bit_exact"])


def test_a_server_that_comes_back_knows_nothing_and_the_job_goes_on() -> None:
    context = judged("atp-server-restarted", [])
    assert_passes(context)
    assert context.restarted_servers == ("h5",)


def test_a_server_that_stays_away_ends_the_job_by_its_time_limit() -> None:
    context = judged("atp", [*SMALL, "faults=[{kind: kill, name: crash, node: h5, from: 5ms}]", "time_limit=2s"])
    (liveness,) = [found for found in run_checks(context).results if found.name == "liveness"]
    assert liveness.verdict is Verdict.FAIL
    assert "the time limit of 2 s was reached, and nothing more happened after 1." in liveness.detail
    assert "; unfinished: h1, h2, h3, h4" in liveness.detail
    assert "a switch or the server never summed it" in str(liveness.evidence)


def test_a_sum_that_overflows_ends_the_job() -> None:
    context = judged("atp", [*SMALL, "job.dtype=int32sat"])
    (liveness,) = [found for found in run_checks(context).results if found.name == "liveness"]
    assert liveness.verdict is Verdict.FAIL
    assert "gave up with overflow: packet 1 of job 1: a sum left the range of int32" in liveness.detail


def test_a_run_waits_for_workers_only() -> None:
    context = judged("atp", SMALL)
    last = max(record.t for record in context.events(WorkerFinished))
    assert max(record.t for record in context.events(NodeExited)) == last
    assert not context.events(TimeLimitReached)


def test_the_compiled_loop_makes_the_same_history() -> None:
    histories = []
    for native in (True, False):
        records: list[dict[str, object]] = []
        plan = make_plan(load_scenario("esa-lossy", SMALL, world="simulated"))
        Simulation(plan, records.append, native=native).run()
        histories.append(records)
    assert histories[0] == histories[1]


def results(context: CheckContext) -> dict[str, tuple[Verdict, str]]:
    return {found.name: (found.verdict, found.detail) for found in run_checks(context).results}


def test_a_switch_that_takes_two_jobs_for_one_is_found_by_what_it_added() -> None:
    """Its bitmaps are right, and every rank is inside once."""
    one = "{name: a, hosts: [h1, h2], straggler: {rank: 1, delay: 5ms}}"
    other = "{name: b, hosts: [h3, h4], straggler: {rank: 0, delay: 5ms}}"
    program = "switch={program: 'tests/support/wrong_aggregators.py:SharesSlots', memory: 1}"
    job = "job={protocol: atp, dtype: int32, size: 5kB, iterations: 1, window_packets: 1}"
    found = results(judged("atp-two-jobs", [program, job, f"jobs=[{one}, {other}]", "faults=[]"]))
    assert found["exactly_once"][0] is Verdict.PASS
    assert found["bit_exact"][0] is found["slots_private"][0] is Verdict.FAIL
    assert "slot 0 of s1 has block 0 of job 2, and got block 0 of job 1 from rank 0" in found["slots_private"][1]


def test_a_switch_that_keeps_all_results_is_found() -> None:
    program = "switch.program=tests/support/wrong_aggregators.py:NeverFrees"
    found = results(judged("atp-two-jobs", [program, *SMALL]))
    assert found["bit_exact"][0] is Verdict.PASS
    verdict, detail = found["liveness"]
    assert verdict is Verdict.FAIL
    assert "contributions without a sum are left: s1, job 1: 9 slots; s1, job 2: 11 slots" in detail


@pytest.mark.parametrize("program", ["switchml", "atp", "esa"])
def test_late_copies_make_no_memory_busy(program: str) -> None:
    """They come ten times later than the job is done: nothing is used for longer than the job took."""
    small = [
        "topology={kind: rack, hosts: 5, link: {rate: 100Mbps}}",
        f"switch={{program: {program}, memory: 16}}",
        f"job={{protocol: {program}, dtype: int32, size: 60kB, iterations: 1, window_packets: 8}}",
    ]
    late = "faults=[{kind: duplicate, name: d, links: all, direction: up, rate: 5%, delay: 60ms}]"
    with_copies, without = (job_metrics(judged(program, [*small, fault])) for fault in (late, "faults=[]"))
    assert with_copies is not None
    assert without is not None
    assert with_copies["busy"] == pytest.approx(without["busy"], rel=0.1, abs=0.01)
    assert with_copies["useful"] == pytest.approx(without["useful"], rel=0.1, abs=0.01)
