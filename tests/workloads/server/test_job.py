"""One job at a parameter server: what is counted, how long it waits, what its answers say, and to whom they go."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.support.atp_star import SERVER_IP
from tests.support.server_bench import COLLISION, EVICTED, RESEND, Departure, ServerBench, elements
from workloads.datagrams.blocks import BlockLost, BlockReplayed, SlotChanged
from workloads.server.job import JobServer
from workloads.wire.aggregation import DatagramFlag, DatagramKind

EMPTY = DatagramKind.REMINDER_EMPTY
RTO = 1_000_000


def kinds(left: list[Departure]) -> list[tuple[int | None, int]]:
    return [(sent.rank, sent.header.kind) for sent in left]


def test_what_came_is_counted_by_what_it_is():
    bench = ServerBench("esa")
    for ranks, flags in (
        ([0], COLLISION | EVICTED), ([0], RESEND | COLLISION), ([0], RESEND), ([0], 0), ([0, 1], 0), ([0, 1, 2], 0),
        ([0, 1, 2], RESEND),
    ):  # fmt: skip
        bench.send(ranks, 0, flags)
    bench.send([0, 1, 2], 0, kind=DatagramKind.RESULT)
    bench.send([], 0, kind=EMPTY, bitmap0=0)
    assert bench.server.statistics().packets_in == {
        "evicted": 1, "collided": 1, "resend": 2, "data": 1, "partial": 1, "whole": 1, "copy": 1, "reminder_empty": 1,
    }  # fmt: skip


def test_what_it_did_is_counted():
    bench = ServerBench("esa")
    bench.send([0], 0)
    bench.send([0], 0)  # overlaps
    bench.wait()  # reminds the switch
    bench.send([], 0, kind=EMPTY, bitmap0=0)  # asks two
    bench.send([0, 1, 2], 0, RESEND)  # the sum
    bench.send([1], 0, RESEND)  # again
    bench.send([1], 0)  # ignored
    for rank in range(3):
        bench.send([rank], 1, COLLISION)  # a sum that moves
    bench.send([0, 1, 2], 2, kind=DatagramKind.RESULT)  # a copy
    bench.send([0], 3)  # stays open
    told = bench.server.statistics()
    counts = (told.blocks, told.copies, told.replays, told.overlaps, told.ignored, told.reminders, told.nacks)
    assert counts == (2, 1, 1, 1, 1, 1, 2)
    assert (told.moved, told.rejected, told.open) == (1, 0, 1)


def test_reminders_wait_twice_as_long_each_time_and_sixteen_times_at_most():
    bench, waits = ServerBench("esa"), []
    bench.send([0], 0)
    for _ in range(7):
        before = bench.now
        bench.wait()
        waits.append((bench.now - before) // RTO)
    assert waits == [1, 2, 4, 8, 16, 16, 16]


def test_a_part_that_comes_by_itself_is_no_answer_of_a_switch():
    bench = ServerBench("esa", workers=4)
    bench.send([0], 0)
    bench.wait()
    assert bench.send([1], 0) == []
    assert kinds(bench.send([2], 0, EVICTED)) == [(3, DatagramKind.NACK)]


def test_a_block_that_was_asked_for_is_not_hurried_by_those_that_overtake_it():
    bench = ServerBench("esa")
    bench.send([0], 0)
    bench.wait()
    due = bench.server.get_timer()
    for block in (1, 2, 3):
        bench.send([0, 1, 2], block)
    assert bench.server.get_timer() == due


def test_a_block_is_asked_for_at_once_when_three_later_ones_overtook_it():
    bench = ServerBench("esa")
    bench.send([0], 0)
    due = bench.server.get_timer()
    for block in (1, 2):
        bench.send([0, 1, 2], block)
        assert bench.server.get_timer() == due
    bench.send([0, 1, 2], 3)
    assert bench.server.get_timer() == bench.now < due


def test_blocks_that_are_complete_in_order_hurry_none_behind_them():
    bench = ServerBench("esa")
    bench.send([0], 3)
    for block in (0, 1, 2):
        bench.send([0, 1, 2], block)
    assert bench.server.get_timer() == 1000 + RTO


def test_without_a_switch_workers_are_asked_and_answered_one_by_one():
    bench = ServerBench("esa", workers=2)
    config = replace(bench.job, multicast=False)
    bench.server = JobServer(config, bench.envelope)
    bench.send([0], 0)
    assert kinds(bench.wait()) == [(1, DatagramKind.NACK)]
    assert kinds(bench.send([1], 0, RESEND)) == [(0, DatagramKind.RESULT), (1, DatagramKind.RESULT)]
    assert kinds(bench.send([0, 1], 0)) == [(0, DatagramKind.RESULT), (1, DatagramKind.RESULT)]
    assert bench.server.statistics().replays == 2


def test_each_of_several_that_ask_together_is_answered():
    bench = ServerBench(workers=4)
    bench.send([0, 1, 2, 3], 0)
    assert kinds(bench.send([1, 3], 0, RESEND)) == [(1, DatagramKind.RESULT), (3, DatagramKind.RESULT)]
    assert [event.rank for event in bench.told(BlockReplayed)] == [1, 3]
    assert bench.server.statistics().replays == 2


@pytest.mark.parametrize(("dtype", "op"), [("int32", 0), ("int32sat", 1)])
def test_a_result_says_whose_sum_it_is(dtype: str, op: int):
    bench = ServerBench("esa", dtype=dtype)
    bench.send([0], 5, tensor=3, priority=7, slot=6, values=[1, 2, 3])
    bench.send([1], 5, tensor=3, priority=9, slot=6, values=[1, 2, 3])
    (sent,) = bench.send([2], 5, tensor=3, priority=8, slot=6, values=[1, 2, 3])
    header = sent.header
    assert (header.job, header.sequence, header.slot, header.tensor, header.nelem) == (7, 6, 6, 3, 3)
    assert (header.bitmap0, header.fan_in0, header.op, header.priority, header.flags) == (7, 3, op, 9, 0)
    assert (header.server, header.new_slot) == (int.from_bytes(SERVER_IP, "big"), 6), "it moved before we knew"


def test_only_atp_knows_who_goes_ahead_of_results():
    for bench in (ServerBench("esa"), ServerBench(again=True)):
        bench.send([0], 0)
        assert not bench.send([0], 4)
        assert bench.reasons == []
    bench = ServerBench()
    bench.send([0, 1, 2], 0)
    bench.send([0], 4)
    bench.send([0], 3)
    assert bench.reasons == []
    bench.send([0], 7)
    assert bench.reasons == ["overrun"]


def test_a_part_of_another_tensor_is_thrown_away():
    bench = ServerBench()
    bench.send([0], 0)
    bench.send([1], 0, tensor=1)
    assert bench.reasons == ["mismatch"]


def test_a_copy_brings_no_marks_and_moves_nobody():
    bench = ServerBench("esa")
    header = bench.server._header._replace(sequence=1, nelem=2, flags=int(COLLISION))
    bench.receive(0, header, bytes(8), tos=3)
    (sent,) = bench.send([1], 0, RESEND)
    assert (sent.header.flags, sent.header.new_slot) == (0, 0)


def test_a_mark_after_the_sum_is_not_told_with_it():
    bench = ServerBench()
    bench.send([0, 1, 2], 0)
    (sent,) = bench.send([0], 0, RESEND | DatagramFlag.COLLISION)
    assert sent.header.flags == 0


def test_a_block_gives_way_to_the_one_two_windows_later():
    bench = ServerBench("esa")
    bench.send([0], 0)
    assert bench.server.statistics().open == 1
    bench.send([0, 1, 2], 8)
    assert bench.server.statistics().open == 0
    assert bench.server.get_timer() is None
    assert kinds(bench.send([1], 0, RESEND)) == [(1, EMPTY)]


def test_all_that_is_due_is_asked_for_at_once():
    bench = ServerBench("esa")
    for block in range(3):
        bench.send([0], block)
    bench.now = 3000 + RTO
    bench.server.handle_timer(bench.now - 1)
    assert [sent.header.sequence for sent in bench.leaving()] == [1, 2]
    bench.server.handle_timer(bench.now)
    assert [sent.header.sequence for sent in bench.leaving()] == [3]


@pytest.mark.parametrize(
    ("changes", "fits"),
    [
        ({}, True), ({"nelem": 8}, True), ({"nelem": 9}, False), ({"slot": 7}, True), ({"slot": 8}, False),
        ({"bitmap0": 7}, True), ({"bitmap0": 8}, False), ({"bitmap0": 0}, False),
        ({"bitmap0": 0, "kind": EMPTY}, True), ({"op": 1}, False),
    ],
)  # fmt: skip
def test_what_may_be_of_the_job(changes: dict[str, int], fits: bool):
    bench = ServerBench()
    header = bench.server._header._replace(kind=DatagramKind.DATA, bitmap0=1)._replace(**changes)
    assert bench.server.fits(bench.arrival(header, bytes(4 * header.nelem))) is fits


def test_steps_are_told_with_their_slot_and_worker():
    bench = ServerBench()
    bench.send([2], 1, slot=5)
    bench.send([0, 1], 1, slot=5)
    assert bench.told(SlotChanged) == [
        SlotChanged(7, 5, 0, 1, 2, "unknown", "new", "open"), SlotChanged(7, 5, 0, 1, -1, "open", "completing", "done"),
    ]  # fmt: skip


def test_a_worker_that_asks_for_an_open_block_is_inside_once():
    bench = ServerBench()
    bench.send([0], 0, RESEND)
    bench.send([1], 0, RESEND)
    (sent,) = bench.send([2], 0, RESEND)
    assert elements(sent) == bench.total([0, 1, 2], 0)


def test_before_the_first_block_there_is_none():
    bench = ServerBench("esa")
    assert not bench.send([0], -1)
    assert bench.reasons == ["stale"]
    assert bench.server.statistics().open == 0


def test_while_workers_that_were_asked_may_answer_others_are_answered():
    bench = ServerBench("esa")
    bench.send([0], 0, RESEND)
    bench.wait()
    bench.send([], 0, kind=EMPTY, bitmap0=0)
    to_all = [(None, DatagramKind.RESULT)]
    assert kinds(bench.send([0, 1, 2], 0, RESEND)) == to_all
    assert kinds(bench.send([0], 0, RESEND)) == [(0, DatagramKind.RESULT)], "it asks for its own"
    assert kinds(bench.send([0, 1, 2], 0)) == to_all, "a switch still has it"
    assert kinds(bench.send([0, 1, 2], 0, RESEND)) == [], "the other one's answer"
    assert kinds(bench.send([0, 1, 2], 0, RESEND)) == to_all, "that many were not asked"


def test_a_whole_sum_for_which_nobody_was_asked_is_a_question():
    bench = ServerBench()
    bench.send([0, 1, 2], 0)
    assert kinds(bench.send([0, 1, 2], 0, RESEND)) == [(None, DatagramKind.RESULT)]
    assert bench.told(BlockReplayed) == [BlockReplayed(7, -1, 0, 0)]


def test_who_has_a_result_that_a_switch_made_does_not_move():
    bench = ServerBench("esa")
    bench.send([0], 0, COLLISION)
    bench.send([0, 1, 2], 0, kind=DatagramKind.RESULT)
    (sent,) = bench.send([1], 0, RESEND)
    assert (sent.header.flags, sent.header.new_slot) == (0, 0)


def test_an_atp_server_waits_for_nothing_unless_it_started_anew():
    for again, timer in ((False, None), (True, 1000 + RTO)):
        bench = ServerBench(again=again)
        bench.send([0], 0)
        assert bench.server.get_timer() == timer
    bench = ServerBench()
    bench.send([0], 0)
    for block in (1, 2, 3):
        bench.send([0, 1, 2], block)
    assert bench.server.get_timer() is None, "nor when others overtake it"


def test_who_asks_for_what_is_lost_hears_that():
    bench = ServerBench(again=True)
    bench.send([0, 1], 5, EVICTED)
    bench.wait()
    bench.send([2], 5, kind=EMPTY, values=[])
    assert kinds(bench.send([0], 5, RESEND)) == [(0, EMPTY)]
    assert bench.told(BlockLost) == [BlockLost(7, 5, (0, 1), 2), BlockLost(7, 5, (0,), -1)]


def test_steps_are_told_only_where_they_are_traced():
    bench = ServerBench()
    bench.server = JobServer(bench.job, bench.envelope)
    bench.send([0, 1, 2], 0)
    assert bench.told(SlotChanged) == []


def test_a_block_that_was_hurried_is_not_asked_for_at_its_first_deadline_too():
    bench = ServerBench("esa")
    bench.send([0], 0)
    for block in (1, 2, 3):
        bench.send([0, 1, 2], block)
    bench.wait()
    assert bench.server.get_timer() == bench.now + 2 * RTO


def test_workers_that_name_different_slots_are_moved():
    bench = ServerBench()
    bench.send([0], 0)
    bench.send([1], 0, slot=3)
    (sent,) = bench.send([2], 0)
    assert sent.header.flags & COLLISION
    assert sent.header.new_slot != 0


@pytest.mark.parametrize(
    ("parts", "total", "overflow"),
    [
        ((2**31 - 1, 1, -7), 2**31 - 8, True), ((2**31 - 8, 7, 0), 2**31 - 1, False),
        ((-(2**31), -1, 7), 7 - 2**31, True),
        ((-(2**31) + 8, -8, 0), -(2**31), False),
    ],
)  # fmt: skip
def test_saturating_sums_stop_at_the_ends_of_int32(parts: tuple[int, ...], total: int, overflow: bool):
    bench = ServerBench(dtype="int32sat")
    for rank, value in enumerate(parts):
        left = bench.send([rank], 0, values=[5, value])
    assert elements(left[0]) == [15, total]
    assert bool(left[0].header.flags & DatagramFlag.OVERFLOW) is overflow
