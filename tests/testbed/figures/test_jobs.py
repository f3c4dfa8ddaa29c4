"""Figures of jobs, worked out by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from testbed.checkers import CheckContext
from testbed.figures.jobs import jain_index, job_metrics, without_performance
from testbed.figures.metrics import metrics
from testbed.history import Record
from testbed.history.verdict import CheckResult, Verdict
from testbed.plan import Plan, make_plan
from testbed.report import summary
from testbed.scenario.model import Job, Scenario, SwitchOptions, Transport
from tests.support.records import a_record, event_with, held
from topologies import LinkShape, rack
from workloads.config import HostConfig
from workloads.datagrams.blocks import BlockSummed, MemoryAtEnd

pytestmark = pytest.mark.protocols("switchml")

SHARED = Job(protocol="switchml", dtype="int32", window_packets=2)
JOBS = (
    replace(SHARED, name="early", number=4, size_bytes=4 * 64 * 2, iterations=2, hosts=("h1", "h2")),
    replace(SHARED, name="late", number=9, size_bytes=4 * 64, hosts=("h3", "h4"), arrival_ns=100),
)
PLAN = make_plan(
    Scenario(
        "t", rack(4, LinkShape()), LinkShape(), switch=SwitchOptions("switchml", memory=8),
        transport=Transport(path_mtu=256),
        job=SHARED, jobs=JOBS,
    )
)  # fmt: skip
"""two jobs on two hosts each: 2 iterations of 2 blocks; 1 of 1"""
START = 1000


def event(kind: str, node: str = "s1", t: int = START, **fields: Any) -> Record:
    return a_record(t, node, kind, **fields)


def completed(node: str, iteration: int, at: int) -> Record:
    return event("CollectiveCompleted", node, at, iteration=iteration, sha256="", bytes=512, completed_ns=at)


def history(plan: Plan = PLAN) -> list[Record]:
    records = [event("TrafficStarted", "world", nodes=5)]
    records += [completed("h1", 0, 1300), completed("h2", 0, 1400), completed("h3", 0, 1900), completed("h4", 0, 1500)]
    records += [completed("h1", 1, 2000), completed("h2", 1, 1999)]
    records += [event("WorkerFinished", worker.name, 2500, iterations=1) for worker in plan.workers]
    records += [event("BlockSummed", job=4, block=block, slot=0, contributions=(1, 1)) for block in range(4)]
    records.append(event("BlockSummed", job=9, block=0, slot=0, contributions=(1, 1)))
    memory = {"first_slot": 0, "slots": 2, "open": 0, "values": 4, "peak_occupied": 3}
    records.append(event("MemoryAtEnd", job=4, busy_ns=2400, useful_ns=400, **memory))
    records.append(event("MemoryAtEnd", job=9, busy_ns=1600, useful_ns=240, **memory))
    return records


def figures(records: list[Record], plan: Plan = PLAN) -> dict[str, Any]:
    found = job_metrics(CheckContext(plan, records))
    assert found is not None
    return found


def test_times_count_from_the_arrival_to_the_slowest_worker():
    found = figures(history())
    early, late = found["each"]
    assert (early["job"], early["name"], early["workers"], early["arrival_s"]) == (4, "early", 2, 0)
    assert (late["job"], late["name"], late["workers"], late["arrival_s"]) == (9, "late", 2, 100e-9)
    assert early["iterations_s"] == [400e-9, 600e-9]
    assert late["iterations_s"] == [800e-9]
    assert (early["jct_s"], late["jct_s"]) == (1000e-9, 800e-9)
    assert (found["average_jct_s"], found["p95_jct_s"], found["makespan_s"]) == (900e-9, 1000e-9, 1000e-9)
    assert early["goodput_bps"] == pytest.approx(2 * 512 * 8 / 1000e-9)
    assert late["goodput_bps"] == pytest.approx(256 * 8 / 800e-9)


def test_memory_is_shared_out_over_all_values_and_the_makespan():
    found = figures(history())
    assert found["memory_values"] == 8
    assert [job["busy"] for job in found["each"]] == [2400 / 8000, 1600 / 8000]
    assert (found["busy"], found["useful"]) == pytest.approx((0.5, 0.08))


def test_what_was_forgotten_with_a_restart_is_not_counted():
    again = [event("NodeStarted", "s1", time, role="switch", backend="virtual") for time in (0, 1500)]
    found = figures([*again, *history()])
    assert (found["busy"], found["useful"]) == (None, None)
    assert [job["jct_s"] is not None for job in found["each"]] == [True, True]


def test_a_program_that_tells_no_useful_time():
    records = [event_with(record, useful_ns=-1) if record.name == "MemoryAtEnd" else record for record in history()]
    assert figures(records)["useful"] is None
    assert figures(records)["busy"] == 0.5
    silent = [record for record in records if not isinstance(record.event, MemoryAtEnd)]
    assert figures(silent)["busy"] is None


def test_a_job_that_did_not_finish_has_no_times_and_neither_has_the_average():
    records = [record for record in history() if (record.node, held(record, "iteration")) != ("h2", 1)]
    found = figures(records)
    early, late = found["each"]
    assert early["iterations_s"] == [400e-9, None]
    assert (early["jct_s"], early["goodput_bps"], early["switch_completed"]) == (None, None, None)
    assert late["jct_s"] == 800e-9
    assert (found["average_jct_s"], found["p95_jct_s"], found["makespan_s"], found["busy"]) == (None, None, None, None)


def test_an_iteration_that_not_all_told_of_has_no_time_and_neither_has_the_next():
    records = [record for record in history() if (record.node, held(record, "iteration")) != ("h2", 0)]
    early, _ = figures(records)["each"]
    assert (early["iterations_s"], early["jct_s"]) == ([None, None], 1000e-9)


def test_a_run_that_ended_before_its_traffic_began_has_no_times():
    found = figures([])
    assert [job["jct_s"] for job in found["each"]] == [None, None]
    assert (found["average_jct_s"], found["makespan_s"], found["busy"]) == (None, None, None)


def test_without_a_switch_that_serves_jobs_there_are_no_figures_of_jobs():
    plan = make_plan(Scenario("t", rack(2, LinkShape()), LinkShape(), switch=SwitchOptions("netreduce")))
    assert job_metrics(CheckContext(plan, [])) is None


def test_what_only_servers_and_their_switches_tell_is_absent_without_them():
    for job in figures(history())["each"]:
        assert {job[key] for key in ("collisions", "evictions", "reminders", "server_bytes")} == {None}
        assert job["switch_completed"] == 1


def test_counts_of_each_job():
    records = history()
    del records[-3]  # the one block of the second job is not summed by the switch,
    partial = {"job": 9, "slot": 0, "bitmap": 3}
    records += [
        event("PartialSent", **partial, block=0, contributions=(1, 0), reason="evicted"),
        event("PartialSent", **partial, block=0, contributions=(0, 1), reason="flushed"),
        event("Collided", job=9, block=0, rank=1, slot=0, owner_job=4, owner_block=1),
        event("BlockSummed", "h5", job=9, block=0, slot=0, contributions=(1, 1)),  # but by a server
        event("ServerStatistics", "h5", job=9, bytes_in=700, reminders=2),
        event("ServerStatistics", "h6", job=4, bytes_in=10, reminders=0),
        event("DatagramResent", "h3", job=9, block=0, slot=0, cause="timeout", attempt=1),
    ]
    early, late = figures(records)["each"]
    assert (late["collisions"], late["evictions"], late["reminders"], late["server_bytes"]) == (1, 1, 2, 700)
    assert (late["resends"], late["switch_completed"]) == (1, 0)
    assert (early["collisions"], early["evictions"], early["server_bytes"], early["resends"]) == (0, 0, 10, 0)
    assert early["switch_completed"] == 1


def test_a_sum_that_a_switch_hands_to_the_server_complete_counts_as_completed_there():
    records = [record for record in history() if not isinstance(record.event, BlockSummed)]
    records.append(event("PartialSent", job=9, block=0, slot=0, contributions=(1, 1), bitmap=3, reason="complete"))
    early, late = figures(records)["each"]
    assert (early["switch_completed"], late["switch_completed"]) == (0, 1)


def test_the_ninety_fifth_percentile_is_that_of_nearest_rank():
    workers: list[HostConfig] = []
    for number in range(1, 21):
        config = PLAN.workers[0]
        share = replace(config.collective, job=number)  # type: ignore[type-var]
        workload = replace(config.workload, iterations=1)
        workers.append(replace(config, name=f"w{number}", collective=share, workload=workload))  # type: ignore[type-var]
    jobs = tuple(replace(SHARED, number=number) for number in range(1, 21))
    plan = replace(PLAN, workers=tuple(workers), scenario=replace(PLAN.scenario, jobs=jobs))
    records = [event("TrafficStarted", "world"), *(completed(f"w{n}", 0, START + 10 * n) for n in range(1, 21))]
    found = figures(records, plan)
    assert found["p95_jct_s"] == 190e-9
    assert found["average_jct_s"] == pytest.approx(105e-9)
    assert [job["name"] for job in found["each"]][:2] == ["job1", "job2"]


def test_figures_of_a_machine_that_did_not_keep_up_are_set_apart():
    found = figures(history())
    bare = without_performance(found)
    assert (bare["average_jct_s"], bare["busy"], bare["memory_values"]) == (None, None, 8)
    assert (bare["each"][0]["jct_s"], bare["each"][0]["resends"]) == (None, 0)
    values = metrics(CheckContext(PLAN, history()), CheckResult("fidelity", Verdict.UNKNOWN, "too slow"))
    assert values["jobs"] == bare
    assert values["unreliable"]["jobs"] == found


def test_jobs_that_differ_have_no_goodput_in_common():
    values = metrics(CheckContext(PLAN, history()))
    assert values["goodput_bps"] is None
    assert values["jobs"] == figures(history())


def test_the_summary_names_each_job():
    values = metrics(CheckContext(PLAN, history()))
    text = [f"{line.label} {line.text}".strip() for line in summary.job_lines(values)]
    assert text[1:] == [
        "Jobs",
        "average completion time 900 ns, 95th percentile 1.00 us, last job done after 1.00 us",
        "switch memory of 8 values: busy 50.0% of the time, usefully 8.0%",
        "early 1.00 us, 500 ns per iteration, 8.19 Gbit/s of gradient per worker",
        "late 800 ns, 800 ns per iteration, 2.56 Gbit/s of gradient per worker, from 100 ns on",
    ]
    assert summary.job_lines({"unreliable": None}) == []


def test_the_summary_of_a_job_with_a_server():
    records = history()
    records.append(event("ServerStatistics", "h5", job=9, bytes_in=1700, reminders=2))
    records += [event("Collided", job=9, block=0, rank=1, slot=0, owner_job=4, owner_block=1)] * 2
    records.append(event("DatagramResent", "h3", job=9, block=0, slot=0, cause="timeout", attempt=1))
    assert summary.job_lines(metrics(CheckContext(PLAN, records)))[-1].text == (
        "800 ns, 800 ns per iteration, 2.56 Gbit/s of gradient per worker, from 100 ns on, 2 collisions, 2 "
        "reminders, "
        "1 packet sent again, 1.70 kB into its server, 100.0% of its blocks complete in a switch"
    )


def test_the_summary_of_a_run_that_did_not_end():
    records = [record for record in history() if record.node != "h4"]
    text = [f"{line.label} {line.text}".strip() for line in summary.job_lines(metrics(CheckContext(PLAN, records)))]
    assert text[2:] == [
        "switch memory of 8 values: how long it was in use is not known",
        "early 1.00 us, 500 ns per iteration, 8.19 Gbit/s of gradient per worker",
        "late did not complete, from 100 ns on",
    ]


def test_fairness_is_the_index_of_jain_over_goodputs():
    """(3 + 1)^2 / (2 (9 + 1)) is 0.8; one that has all of n has 1/n."""
    assert jain_index([3.0, 1.0]) == pytest.approx(0.8)
    assert jain_index([5.0, 5.0, 5.0]) == pytest.approx(1.0)
    assert jain_index([7.0, 0.0, 0.0, 0.0]) == pytest.approx(0.25)
    assert [jain_index(shares) for shares in ([], [3.0], [3.0, None], [0.0, 0.0])] == [None] * 4
    early, late = 2 * 512 * 8 / 1000e-9, 256 * 8 / 800e-9
    assert figures(history())["fairness"] == pytest.approx((early + late) ** 2 / (2 * (early**2 + late**2)))
    unfinished = [record for record in history() if (record.node, held(record, "iteration")) != ("h2", 1)]
    assert figures(unfinished)["fairness"] is None
