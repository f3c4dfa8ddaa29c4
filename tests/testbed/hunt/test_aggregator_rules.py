"""The order rules of ATP and ESA, on packets and steps made by hand."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from testbed.hunt.aggregator_rules import AGGREGATOR_RULES, AggregatorWatch, ServerWatch
from testbed.plan import make_plan
from tests.testbed.hunt.test_survival_datagrams import atp
from workloads.datagrams.blocks import PartialSent, SlotChanged
from workloads.wire.aggregation import AGGREGATION_PORT, AggregationHeader, DatagramKind, encode_datagram

pytestmark = pytest.mark.protocols("esa")

WINDOW = 4


class Bench:
    """A switch under watch. Slot 0, packets of job 1 unless told otherwise."""

    def __init__(self, **knobs: object) -> None:
        scenario = atp(kind="esa")
        scenario = replace(scenario, switch=replace(scenario.switch, knobs=replace(scenario.switch.knobs, **knobs)))
        plan = make_plan(scenario)
        config = plan.switches[0]
        self.jobs = {job.job: job.window for job in config.jobs}
        self.broken: list[str] = []
        self.envelope = plan.workers[0].envelope
        self.watch = AggregatorWatch(config, config.knobs, lambda rule, what: self.broken.append(rule))
        self.server = ServerWatch("h9", lambda rule, what: self.broken.append(rule))

    def came(self, watch=None, *, rank=0, sequence=1, priority=0, job=1, tensor=0, bitmap=None):
        header = AggregationHeader(
            3,
            DatagramKind.DATA,
            job,
            sequence,
            0,
            1 << rank if bitmap is None else bitmap,
            2,
            priority=priority,
            tensor=tensor,
        )
        (watch or self.watch).came(encode_datagram(self.envelope, AGGREGATION_PORT, header, b""), 0)

    def step(self, cause, state="filling", after="filling", block=0, job=1, watch=None):
        (watch or self.watch).told(SlotChanged(job, 0, 0, block, 0, state, cause, after))

    def meets(self, cause, **packet):
        """A packet that meets a slot, and what the switch calls it."""
        self.came(**packet)
        inside = self.watch._slots[0].bitmap
        self.step(cause, job=packet.get("job", 1))
        if cause == "other_lower":
            self.sent("evicted", inside)
        self.watch.handled()

    def fills(self, **packet):
        self.came(**packet)
        self.step("new", "empty")
        self.watch.handled()

    def sent(self, reason, bitmap):
        contributions = tuple(bitmap >> rank & 1 for rank in range(3))
        self.watch.told(PartialSent(1, 0, 0, contributions, bitmap, reason))


@pytest.mark.parametrize(
    ("cause", "priority", "broken"),
    [("other_lower", 6, []), ("other_lower", 5, ["urgent_first"]), ("other", 6, ["urgent_first"]), ("other", 5, [])],
)
def test_the_more_urgent_packet_takes_the_slot(cause, priority, broken):
    bench = Bench(reclaim=False)
    bench.fills(priority=5)
    bench.meets(cause, priority=priority, job=2)
    assert bench.broken == broken


def test_a_slot_is_as_urgent_as_the_most_urgent_packet_that_it_heard():
    bench = Bench(reclaim=False)
    bench.fills(priority=2)
    bench.meets("new", priority=7, rank=1)
    bench.meets("repeat", priority=9)
    bench.meets("other", priority=9, job=2)
    assert bench.broken == []
    bench.meets("other_lower", priority=9, job=2)
    assert bench.broken == ["urgent_first"]


@pytest.mark.parametrize(("age", "enough"), [("none", 9), ("minus1", 8), ("shift1", 5)])
def test_a_collision_ages_the_occupant(age, enough):
    for priority, broken in ((enough, []), (enough - 1, ["urgent_first"])):
        bench = Bench(reclaim=False, age=age)
        bench.fills(priority=8)
        bench.meets("other", priority=1, job=2)
        bench.meets("other_lower", priority=priority, job=2)
        assert bench.broken == broken


def test_who_is_the_whole_sum_needs_no_slot():
    bench = Bench(reclaim=False)
    bench.fills(priority=1)
    whole = bench.watch._whole[2]
    bench.meets("other", priority=9, job=2, bitmap=whole)
    assert bench.broken == []


@pytest.mark.parametrize("later", [-1, 0])
def test_a_slot_is_reclaimed_a_window_later(later):
    bench = Bench()
    behind = bench.jobs[1] + later
    bench.fills(sequence=2)
    bench.meets("successor", sequence=2 + behind)
    assert bench.broken == ([] if later == 0 else ["reclaim_by_window"])
    bench = Bench()
    bench.fills(sequence=2)
    bench.meets("other", sequence=2 + behind)
    assert bench.broken == (["reclaim_by_window"] if later == 0 else [])


def test_a_slot_is_reclaimed_by_a_later_tensor_and_not_by_another_job():
    bench = Bench()
    bench.fills(tensor=1)
    bench.meets("other", tensor=2)
    assert bench.broken == ["reclaim_by_window"]
    bench = Bench()
    bench.fills()
    bench.meets("successor", job=2, sequence=9)
    assert bench.broken == ["reclaim_by_window"]


@pytest.mark.parametrize(("bitmap", "broken"), [(0b11, []), (0b01, ["flush_is_whole"]), (0b10, ["flush_is_whole"])])
def test_what_is_flushed_has_its_asker_and_all_that_was_inside(bitmap, broken):
    bench = Bench()
    bench.fills(rank=0)
    bench.came(rank=1)
    bench.step("resend_own", after="empty")
    bench.sent("flushed", bitmap)
    bench.watch.handled()
    assert bench.broken == broken


@pytest.mark.parametrize(("cause", "rule"), [("resend_own", "flush_is_whole"), ("reminder_own", "partial_is_whole")])
def test_what_is_asked_for_leaves(cause, rule):
    bench = Bench()
    bench.fills(rank=0)
    bench.came(rank=1)
    bench.step(cause, after="empty")
    bench.watch.handled()
    assert bench.broken == [rule]


def test_who_brings_more_than_is_inside_goes_on_alone():
    for told, broken in ((False, []), (True, ["flush_is_whole"])):
        bench = Bench()
        bench.fills(rank=0)
        bench.came(bitmap=0b11)
        bench.step("resend_own", after="empty")
        if told:
            bench.sent("flushed", 0b01)
        bench.watch.handled()
        assert bench.broken == broken


def test_nobody_is_evicted_in_silence():
    bench = Bench()
    bench.fills(priority=1)
    bench.came(priority=2, job=2)
    bench.step("other_lower", job=2)
    bench.watch.handled()
    assert bench.broken == ["partial_is_whole"]


@pytest.mark.parametrize(("bitmap", "broken"), [(0b01, []), (0b11, ["partial_is_whole"])])
def test_what_is_evicted_is_what_was_inside(bitmap, broken):
    bench = Bench()
    bench.fills(priority=1)
    bench.came(rank=1, priority=2, job=2)
    bench.step("other_lower", job=2)
    bench.sent("evicted", bitmap)
    assert bench.broken == broken


@pytest.mark.parametrize(("block", "broken"), [(0, []), (8, ["server_keeps_apart"])])
def test_a_server_takes_a_packet_for_its_block(block, broken):
    bench = Bench()
    bench.came(bench.server, sequence=1)
    bench.step("asked", "done", "done", block=block, watch=bench.server)
    assert bench.broken == broken


def test_what_a_timer_makes_a_server_do_is_about_no_packet():
    bench = Bench()
    bench.came(bench.server, sequence=1)
    bench.server.handled()
    bench.step("due", "open", "open", block=8, watch=bench.server)
    assert bench.broken == []


def test_all_rules_have_a_case_here():
    source = Path(__file__).read_text(encoding="utf-8")
    assert all(f'["{rule}"]' in source for rule in AGGREGATOR_RULES)
