"""What an aggregator switch counts and tells, beside what it sends."""

from __future__ import annotations

from dataclasses import replace

import pytest

from switch_nodes.aggregators.arrival import AggregatorArrival
from switch_nodes.aggregators.policies import AtpProgram
from switch_nodes.events import SwitchStatistics
from tests.support.aggregator_bench import ACK, EARLY, REAL, Bench, job_config
from tests.support.aggregator_cases import COLLISION, OVERFLOW, SERVER, finish_block, only
from tests.support.switchml_bench import member_ip, member_mac
from workloads.datagrams.blocks import SlotChanged
from workloads.wire import Envelope
from workloads.wire.aggregation import AGGREGATION_PORT, AggregationHeader, DatagramKind, encode_datagram


def counted(bench: Bench) -> dict[str, int]:
    """What is not 0, and is not of plain forwarding."""
    plain = {"forwarded", "flooded", "filtered", "runt"}
    return {name: count for name, count in bench.program.counters.items() if count and name not in plain}


def test_an_atp_switch_counts_what_it_does() -> None:
    bench = Bench(REAL.atp)
    bench.fill(0)
    bench.send(1, 0)  # once more: the sum again
    bench.send(0, 1, flags=COLLISION)  # goes on
    bench.send(0, 2)
    bench.send(0, 2)  # a duplicate
    bench.send(1, 2, values=[1, 2, 3])  # a mismatch
    bench.resend(1, 2)  # takes it out
    bench.result(0)
    bench.result(3)
    bench.send(0, 4)
    bench.send(0, 12)  # a window later
    bench.send(1, 4)  # and one that is late
    bench.give(0, member_mac(1) + member_mac(0) + b"\x08\x06" + bytes(46))
    bench.remind(0)
    assert counted(bench) == {
        "data_in": 12, "completed": 1, "repeated": 1, "passed": 1, "duplicate": 1, "mismatch": 1, "flushed": 1,
        "results_in": 2, "freed": 1, "results_out": 6, "reclaimed": 1, "collided": 1, "bypassed": 1, "unexpected": 1,
    }  # fmt: skip


def test_an_esa_switch_counts_what_it_does() -> None:
    bench = Bench(REAL.esa)
    bench.fill(0)  # frees its slot; the server gets a copy
    bench.fill(0)  # the same again
    bench.send(0, 1)
    bench.remind(1)
    bench.remind(1)
    bench.send(0, 2, priority=5)
    bench.send(0, 10, priority=9, tensor=0, job=bench.jobs[0])  # a window later
    assert counted(bench) == {
        "data_in": 9, "completed": 2, "repeated": 1, "results_out": 8, "reminders_in": 2, "reminded": 1,
        "answered_empty": 1, "reclaimed": 1,
    }  # fmt: skip


def test_what_preempts_is_counted() -> None:
    one, two = job_config(3), job_config(4, first=4)
    bench = Bench(REAL.esa, one, two)
    bench.send(0, 0, job=one, priority=5)
    bench.send(0, 0, job=two, priority=5)
    bench.send(0, 0, job=two, priority=9)
    assert counted(bench) == {"data_in": 3, "collided": 1, "evicted": 1}


@pytest.mark.parametrize(("age", "left"), [("none", 3), ("minus1", 2), ("shift1", 1)])
def test_who_collides_makes_the_occupant_older(age: str, left: int) -> None:
    one, two = job_config(3), job_config(4, first=4)
    bench = Bench(REAL.esa, one, two, knobs=replace(EARLY, age=age))
    bench.send(0, 0, job=one, priority=3)
    bench.send(0, 0, job=two, priority=1)
    slot = bench.program.memory.slots[0]
    assert slot is not None
    assert slot.priority == left
    for _ in range(5):
        bench.send(0, 0, job=two, priority=0)
    assert slot.priority == (3 if age == "none" else 0)


def test_a_copy_with_a_higher_priority_raises_that_of_its_slot() -> None:
    bench = Bench(REAL.esa)
    for priority in (3, 7, 5):
        bench.send(0, 0, priority=priority)
    slot = bench.program.memory.slots[0]
    assert slot is not None
    assert slot.priority == 7


def test_steps_are_told_where_they_are_traced() -> None:
    bench = Bench(REAL.atp, trace=True)
    bench.send(1, 5)
    bench.result(5)
    assert bench.told(SlotChanged) == [
        SlotChanged(7, 5, 0, 5, 1, "empty", "new", "filling"), SlotChanged(7, 5, 0, 5, -1, "filling", "result_own",
            "empty"),
    ]  # fmt: skip
    silent = Bench(REAL.atp)
    silent.send(1, 5)
    assert silent.told(SlotChanged) == []


def test_slots_are_busy_while_a_block_is_needed_and_useful_until_it_is_complete() -> None:
    """One packet each 1000 ns, from 1000 on. The copy at 6000 opens a slot for a block that is over."""
    for make in (REAL.atp, REAL.esa):
        bench = Bench(make, knobs=ACK)
        finish_block(bench, 0)  # opened at 1000, complete at 3000, its result came at 4000
        bench.send(0, 1)
        bench.send(0, 0)
        (told,) = bench.at_end()
        assert (told.busy_ns, told.useful_ns) == (3000, 2000)
        assert (told.peak_occupied, told.values, told.first_slot, told.slots, told.open) == (2, 8, 0, 8, 1)


def test_an_overflow_that_is_final_and_one_that_is_not() -> None:
    for flags, occupied in ((0, []), (OVERFLOW, [0])):
        bench = Bench(REAL.atp)
        bench.fill(0)
        bench.result(0, flags=flags)
        assert bench.occupied() == occupied


def test_a_job_that_is_not_there_cannot_depart() -> None:
    bench = Bench(REAL.atp)
    assert not bench.program.depart(8)
    assert bench.program.depart(7)
    assert not bench.program.depart(7)


def test_a_damaged_datagram_goes_nowhere() -> None:
    bench = Bench(REAL.atp)
    envelope = Envelope(member_mac(0), member_mac(SERVER), member_ip(0), member_ip(SERVER))
    header = AggregationHeader(bench.policy, DatagramKind.DATA, 7, 1, 0, 1, 3, nelem=1)
    frame = encode_datagram(envelope, AGGREGATION_PORT, header, bytes(4))
    assert bench.give(0, frame[:-1] + b"\x01") == []
    assert bench.reasons == ["checksum"]
    assert counted(bench) == {"checksum": 1}
    assert bench.give(0, frame) == []
    assert only(bench.resend(0, 0, values=[0])).values == [0]


def test_half_of_all_numbers_later_is_no_successor_any_more() -> None:
    for key, more in (("sequence", 8), ("tensor", 1)):
        for make in (REAL.atp, REAL.esa):
            bench = Bench(make)
            bench.send(0, 0)
            later = {key: (1 << 31) + (key == "sequence")}
            assert only(bench.send(1, 0, **later)).flags == COLLISION
            assert bench.send(1, 0, **{key: later[key] - more}) == []
            assert counted(bench)["reclaimed"] == 1


def test_a_sum_that_its_result_did_not_take_out_is_a_leftover() -> None:
    """One that waits for its result is none, nor is one that late copies made."""
    bench = Bench(REAL.atp)
    bench.fill(0)
    assert bench.at_end()[0].open == 0
    bench = Bench(REAL.atp)
    bench.fill(0)
    bench.result(0, flags=OVERFLOW)
    assert bench.at_end()[0].open == 1
    bench = Bench(REAL.atp)
    finish_block(bench, 0)
    bench.fill(0)
    assert bench.at_end()[0].open == 0


def test_its_counters_are_told_at_the_end() -> None:
    bench = Bench(REAL.atp)
    bench.fill(0)
    bench.at_end()
    (told,) = bench.told(SwitchStatistics)
    assert (told.counters["data_in"], told.counters["completed"]) == (3, 1)


def test_a_program_that_mixes_jobs_counts_no_rank_that_the_job_has_not() -> None:
    """Compiled code would write behind the list of counts."""

    class Mixes(AtpProgram):
        def collide(self, a: AggregatorArrival) -> None:
            self.add(a)

    small, large = job_config(3, workers=2), job_config(4, first=3, workers=12)
    bench = Bench(Mixes, small, large)
    bench.send(0, 5, job=small)
    bench.send(11, 5, job=large)
    bench.send(1, 5, job=large)
    slot = bench.program.memory.occupant(5)
    assert slot is not None
    assert list(slot.entered) == [1, 1]
    assert slot.bitmap == 1 << 11 | 0b11
