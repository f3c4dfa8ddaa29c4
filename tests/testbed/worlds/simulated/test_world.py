import os
import subprocess
import sys
from dataclasses import replace

import pytest

from switch_nodes.events import PlaneStatistics, SlotsAtEnd
from switch_nodes.tap import Tap
from testbed.checkers import CheckContext, run_checks
from testbed.faults.events import FaultHealed, FaultStruck
from testbed.faults.model import Drop, Kill, LinkDown, Loss, Match, Pause, RateChange, Window
from testbed.history import sort_history
from testbed.history.events import NodeExited, NodeStarted, ShapingMeasured, TimeLimitReached
from testbed.history.verdict import Verdict
from testbed.scenario.keys.job import Straggler
from testbed.worlds.simulated import SimulatedWorld, simulate
from tests.support.simulation import digests, expected_digests, of, rack_links, rack_plan
from topologies import Direction, LinkShape, rack
from workloads.events import (
    CollectiveCompleted,
    FrameRejected,
    RcStatistics,
    RnrNakSent,
    TrainingProgress,
    WorkerFailed,
    WorkerFinished,
)

MS = 1_000_000
ONE_RUN = """
from testbed.history.codec import encode_record
from tests.testbed.worlds.simulated.test_world import lossy
from testbed.history import sort_history
from testbed.history.verdict import Verdict
from testbed.worlds.simulated import simulate
for record in simulate(lossy()):
    print(encode_record(record))
"""


def lossy(seed=5):
    loss = Loss("loss", rack_links(3), rate=0.03)
    return rack_plan(3, seed=seed, faults=(loss,), job={"size_bytes": 100_000, "message_packets": 16})


def test_two_runs_tell_the_same_history_whatever_the_hash_seed():
    outputs = set()
    for hash_seed in "1", "2":
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": "."}
        done = subprocess.run(
            [sys.executable, "-c", ONE_RUN], env=environment, capture_output=True, text=True, check=True, timeout=60
        )
        outputs.add(done.stdout)
    assert len(outputs) == 1
    assert len(outputs.pop()) > 10_000


def test_another_seed_is_another_history_with_right_sums_too():
    histories = [simulate(lossy(seed)) for seed in (5, 6)]
    assert histories[0] != histories[1]
    for seed, records in zip((5, 6), histories, strict=True):
        assert digests(records) == expected_digests(lossy(seed))
        assert of(records, FaultStruck)


def test_what_a_run_tells():
    plan = rack_plan(2, job={"size_bytes": 50_000})
    records = simulate(plan)
    first = [(record.name, record.node) for record in records[:4]]
    assert first == [("NodeStarted", "h1"), ("NodeStarted", "h2"), ("NodeStarted", "s1"), ("TrafficStarted", "world")]
    assert {record.event.backend for record in of(records, NodeStarted)} == {"virtual"}
    assert [record.t for record in records] == sorted(record.t for record in records)
    assert len(of(records, RcStatistics)) == 4
    assert [record.event.open for record in of(records, SlotsAtEnd)] == [0]
    planes = {record.node: record for record in of(records, PlaneStatistics)}
    assert planes["s1"].event.frames_in == planes["h1"].event.frames_out + planes["h2"].event.frames_out
    assert len(of(records, ShapingMeasured)) == 4
    assert [record.event.status for record in of(records, NodeExited)] == [0, 0, 0]


def test_the_world_is_a_world(tmp_path):
    records = []
    facts = SimulatedWorld().run(rack_plan(2, job={"size_bytes": 4000}), tmp_path, records.append)
    assert len(of(records, WorkerFinished)) == 2
    assert facts.environment["world"] == SimulatedWorld.name == "simulated"
    assert not list(tmp_path.iterdir())


def test_captures_are_those_of_the_switches(tmp_path):
    plan = lossy()
    captured = replace(plan, scenario=replace(plan.scenario, capture=True))
    records = []
    facts = SimulatedWorld().run(captured, tmp_path, records.append)
    assert facts.captures == (tmp_path / "s1.pcapng",)
    context = CheckContext(captured, sort_history(records), facts.captures)
    verdicts = {result.name: result.verdict for result in run_checks(context).results}
    assert set(verdicts.values()) == {Verdict.PASS}, verdicts
    assert "transparency" in verdicts


def completion(records):
    return max(record.event.completed_ns for record in of(records, CollectiveCompleted))


def test_a_collective_takes_as_long_as_its_frames_on_the_wire():
    plan = rack_plan(2, job={"size_bytes": 4 * (10 * 43_516)}, link={"rate_bps": 1_000_000_000, "delay_ns": 10_000})
    frames = 10 * 170
    wire_ns = (frames * 1082 + 10 * (16 + 4)) * 8  # Ethernet 14, IPv4 20, UDP 8, BTH 12, payload 1024, iCRC 4
    took = completion(simulate(plan))
    assert wire_ns < took < wire_ns * 1.02


def test_a_late_link_delays_by_both_directions():
    quick, late = (rack_plan(2, job={"size_bytes": 400}, link={"delay_ns": delay}) for delay in (0, 5 * MS))
    difference = completion(simulate(late)) - completion(simulate(quick))
    assert difference == 4 * 5 * MS  # hello and message, each through two links


def test_links_may_differ():
    slow = LinkShape(rate_bps=10_000_000)
    plan = rack_plan(topology=rack(3, LinkShape(), {"h2-s1": slow}), job={"size_bytes": 100_000})
    records = simulate(plan)
    assert digests(records) == expected_digests(plan)
    assert completion(records) > 100_000 * 8 / 10_000_000 * 1e9


def test_a_narrow_queue_drops_and_the_sums_survive():
    slow = RateChange("slow", ("h2-s1",), (Direction.DOWN,), Window(), 20_000_000)
    job, link = {"size_bytes": 100_000, "message_packets": 16}, {"queue_packets": 20}
    plan = rack_plan(3, faults=(slow,), job=job, link=link, transport={"timeout_code": 13})
    records = simulate(plan)
    assert sum(record.event.queue_drops for record in of(records, PlaneStatistics)) > 0
    assert digests(records) == expected_digests(plan)


def test_a_queue_with_a_threshold_marks_before_it_drops():
    slow = RateChange("slow", ("h2-s1",), (Direction.DOWN,), Window(), 20_000_000)
    job = {"size_bytes": 100_000, "message_packets": 16}

    def measured(**link):
        records = simulate(plan := rack_plan(3, faults=(slow,), job=job, link=link))
        assert digests(records) == expected_digests(plan)
        assert not of(records, FrameRejected)
        return {(r.event.link, r.event.direction): (r.event.marks, r.event.drops) for r in of(records, ShapingMeasured)}

    marking = measured(ecn_threshold_packets=10)
    assert [where for where, (marks, _) in marking.items() if marks] == [("h2-s1", "down")]
    assert marking["h2-s1", "down"][0] > measured(ecn_threshold_packets=20)["h2-s1", "down"][0] > 0
    assert set(measured().values()) == {(0, 0)}


def test_a_dead_switch_ends_the_job_with_the_reason_and_in_bounded_time():
    kill = Kill("kill", "s1", Window(5 * MS))
    records = simulate(rack_plan(3, faults=(kill,), job={"size_bytes": 400_000}, transport={"timeout_code": 10}))
    assert {record.event.reason for record in of(records, WorkerFailed)} == {"RETRY_EXC"}
    (struck,) = of(records, FaultStruck)
    assert (struck.t, struck.event.kind, struck.event.target, struck.event.backend) == (5 * MS, "kill", "s1", "virtual")
    exits = {record.node: record for record in of(records, NodeExited) if record.event.status}
    assert not of(records, CollectiveCompleted)
    assert [record.event.status for record in exits.values()] == [-9]
    assert records[-1].t < 200 * MS


def test_a_dead_worker_is_not_waited_for():
    kill = Kill("kill", "h2", Window(5 * MS))
    records = simulate(rack_plan(2, faults=(kill,), job={"size_bytes": 400_000}, transport={"timeout_code": 10}))
    assert [record.node for record in of(records, WorkerFailed)] == ["h1"]
    assert not of(records, TimeLimitReached, WorkerFinished)


def test_a_restarted_switch_never_makes_a_wrong_sum():
    kill = Kill("kill", "s1", Window(5 * MS, 15 * MS))
    plan = rack_plan(3, faults=(kill,), job={"size_bytes": 400_000}, transport={"timeout_code": 11})
    records = simulate(plan)
    assert [record.t for record in of(records, NodeStarted)] == [0, 0, 0, 0, 15 * MS]
    assert len(of(records, FaultHealed)) == 1
    assert len(of(records, WorkerFailed)) == 3
    expected = expected_digests(plan)
    assert all(expected[key] == digest for key, digest in digests(records).items())


def test_a_pause_is_survived_and_costs_its_time():
    pause = Pause("pause", "s1", Window(5 * MS, 25 * MS))
    job = {"size_bytes": 400_000}
    plan = rack_plan(3, faults=(pause,), job=job)
    records = simulate(plan)
    assert digests(records) == expected_digests(plan)
    assert completion(records) >= completion(simulate(rack_plan(3, job=job))) + 15 * MS
    assert [record.event.kind for record in of(records, FaultStruck)] == ["pause"]
    assert [record.t for record in of(records, FaultHealed)] == [25 * MS]


def test_a_paused_worker_keeps_its_timers():
    pause = Pause("pause", "h1", Window(5 * MS, 60 * MS))
    plan = rack_plan(2, faults=(pause,), job={"size_bytes": 400_000}, transport={"timeout_code": 12})
    records = simulate(plan)
    assert digests(records) == expected_digests(plan)


def test_a_rate_change_lasts_its_window():
    window = Window(5 * MS, 45 * MS)
    slow = RateChange("slow", ("h1-s1",), (Direction.UP,), window, 10_000_000)
    job = {"size_bytes": 400_000}
    plan = rack_plan(2, faults=(slow,), job=job)
    records = simulate(plan)
    assert digests(records) == expected_digests(plan)
    lost = completion(records) - completion(simulate(rack_plan(2, job=job)))
    assert 34 * MS < lost < 37 * MS  # 40 ms at a tenth of the rate
    assert len(of(records, FaultStruck)) == len(of(records, FaultHealed)) == 1


def test_a_dead_link_is_reported():
    down = LinkDown("down", ("h1-s1",), window=Window(5 * MS))
    records = simulate(rack_plan(3, faults=(down,), job={"size_bytes": 400_000}, transport={"timeout_code": 10}))
    assert of(records, WorkerFailed)
    assert not of(records, CollectiveCompleted)
    assert of(records, FaultStruck)


def test_a_deadlock_is_found_without_waiting_for_the_limit():
    drop = Drop("drop", ("h1-s1",), (Direction.UP,), match=Match(psn_offset=0, attempt=1))
    plan = rack_plan(2, faults=(drop,), job={"size_bytes": 4000}, transport={"timeout_code": 0})
    records = simulate(plan)
    (limit,) = of(records, TimeLimitReached)
    assert limit.event.unfinished == ("h1", "h2")
    assert limit.t < MS
    assert limit.event.limit_ns == plan.scenario.time_limit_ns


def test_the_time_limit_ends_a_run_that_would_go_on():
    plan = rack_plan(2, job={"size_bytes": 400_000}, time_limit_ns=10 * MS)
    records = simulate(plan)
    assert [record.event.unfinished for record in of(records, TimeLimitReached)] == [("h1", "h2")]
    assert records[-1].t <= 10 * MS


def test_a_straggler_holds_everybody():
    job = {"size_bytes": 40_000, "straggler": Straggler(1, 30 * MS), "iterations": 2}
    plan = rack_plan(3, job=job)
    records = simulate(plan)
    assert digests(records) == expected_digests(plan)
    assert completion(records) > 60 * MS


def test_a_straggler_beyond_the_life_of_a_queue_pair_is_reported():
    job = {"size_bytes": 40_000, "straggler": Straggler(1, 300 * MS)}
    records = simulate(rack_plan(3, job=job, transport={"timeout_code": 10}))
    assert {"RETRY_EXC"} == {record.event.reason for record in of(records, WorkerFailed)}
    assert not of(records, CollectiveCompleted)


def test_late_receives_bring_rnr_naks_and_right_sums():
    plan = rack_plan(3, job={"size_bytes": 40_000}, transport={"receive_late_ns": 3 * MS})
    records = simulate(plan)
    assert of(records, RnrNakSent)
    assert digests(records) == expected_digests(plan)


class Kept(Tap):
    def __init__(self):
        self.seen, self.lost = [], []

    def record(self, batch, start, stop, now, outgoing):
        self.seen += [(now, int(batch.ports[i]), bytes(batch.row(i)), outgoing) for i in range(start, stop)]

    def dropped(self, port, frame, now, outgoing, reason):
        self.lost.append((reason, outgoing))

    def trimmed(self, port, frame, now):
        pass

    def close(self):
        pass


def test_a_tap_sees_what_the_program_takes_and_gives():
    tap, plan = Kept(), lossy()
    records = simulate(plan, {"s1": tap})
    (plane,) = [record for record in of(records, PlaneStatistics) if record.node == "s1"]
    assert len([row for row in tap.seen if not row[3]]) == plane.event.frames_in
    lost_down = [r for r in of(records, FaultStruck) if r.event.direction == "down"]
    assert len([row for row in tap.seen if row[3]]) == plane.event.frames_out + len(lost_down)
    assert tap.lost.count(("filter", True)) == len(lost_down) > 0
    assert tap.lost.count(("filter", False)) == len(of(records, FaultStruck)) - len(lost_down)


def test_digits_are_learnt_in_virtual_time():
    plan = rack_plan(2, faults=(Loss("loss", rack_links(2), rate=0.01),), job={"workload": "digits", "iterations": 8})
    records = simulate(plan)
    progress = of(records, TrainingProgress)
    assert len(progress) == 16
    by_iteration = {(r.event.iteration, r.event.loss, r.event.accuracy) for r in progress}
    assert len(by_iteration) == 8
    assert progress[-1].event.accuracy > 0.3
    assert len(set(digests(records).values())) == 8


@pytest.mark.parametrize("credit", ["both", "received", "acked"])
def test_capture_is_no_part_of_the_history(credit):
    plan = rack_plan(2, job={"size_bytes": 4000, "credit": credit})
    captured = replace(plan, scenario=replace(plan.scenario, capture=True))
    assert simulate(plan) == simulate(captured)
