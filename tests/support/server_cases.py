"""What a parameter server must do, case by case, each given a bench with a server of its own: right ones pass all, and
every broken one fails one (`server_mutants`)."""

from __future__ import annotations

from collections.abc import Callable

from tests.support.server_bench import COLLISION, EVICTED, RESEND, ServerBench, elements
from workloads.datagrams.blocks import BlockLost, BlockReplayed
from workloads.wire.aggregation import DatagramFlag, DatagramKind

__all__ = ["CASES"]

Make = Callable[..., ServerBench]
"""a bench, by its arguments"""


def disjoint_parts_are_added(make: Make) -> None:
    bench = make()
    assert not bench.send([0], 0)
    assert not bench.send([2], 0)
    (sent,) = bench.send([1], 0)
    assert (sent.rank, sent.header.kind, elements(sent)) == (None, DatagramKind.RESULT, bench.total([0, 1, 2], 0))
    assert (sent.header.sequence, sent.header.bitmap0, sent.header.slot) == (1, 7, 0)
    assert bench.sums == [(0, (1, 1, 1))]


def partial_sums_are_added(make: Make) -> None:
    bench = make()
    bench.send([0, 2], 0, EVICTED)
    (sent,) = bench.send([1], 0)
    assert elements(sent) == bench.total([0, 1, 2], 0)


def a_packet_of_all_is_the_sum(make: Make) -> None:
    bench = make()
    bench.send([0], 0)
    (sent,) = bench.send([0, 1, 2], 0, RESEND)
    assert elements(sent) == bench.total([0, 1, 2], 0)
    assert bench.sums == [(0, (1, 1, 1))]


def a_repeated_part_counts_once(make: Make) -> None:
    bench = make()
    bench.send([0], 0)
    bench.send([0], 0, RESEND)
    bench.send([1], 0)
    (sent,) = bench.send([2], 0)
    assert elements(sent) == bench.total([0, 1, 2], 0)
    assert bench.reasons == ["overlap"]


def an_overlapping_sum_is_thrown_away_as_a_whole(make: Make) -> None:
    bench = make()
    bench.send([0, 1], 0, EVICTED)
    assert not bench.send([1, 2], 0, EVICTED), "a sum cannot be taken apart"
    (sent,) = bench.send([2], 0, RESEND)
    assert elements(sent) == bench.total([0, 1, 2], 0)
    assert bench.sums == [(0, (1, 1, 1))]


def a_wider_packet_replaces_those_inside_it(make: Make) -> None:
    bench = make()
    bench.send([0], 0)
    assert not bench.send([0, 1], 0, EVICTED)
    (sent,) = bench.send([2], 0)
    assert elements(sent) == bench.total([0, 1, 2], 0)
    bench.send([0], 1)
    bench.send([1], 1)
    (sent,) = bench.send([0, 2], 1, RESEND)
    assert elements(sent) == bench.total([0, 1, 2], 1)
    assert bench.sums == [(0, (1, 1, 1)), (1, (1, 1, 1))]


def blocks_do_not_mix(make: Make) -> None:
    bench = make()
    for block in (0, 1):
        for rank in (0, 1):
            bench.send([rank], block)
    assert [elements(sent) for block in (1, 0) for sent in bench.send([2], block)] == [
        bench.total([0, 1, 2], block) for block in (1, 0)
    ]


def who_asks_again_gets_the_result_alone(make: Make) -> None:
    bench = make()
    bench.send([0, 1, 2], 0)
    (sent,) = bench.send([1], 0, RESEND)
    assert (sent.rank, elements(sent)) == (1, bench.total([0, 1, 2], 0))
    assert [(event.rank, event.block) for event in bench.told(BlockReplayed)] == [(1, 0)]
    assert len(bench.sums) == 1


def a_whole_sum_again_frees_the_slot_again(make: Make) -> None:
    bench = make()
    bench.send([0, 1, 2], 0)
    (sent,) = bench.send([0, 1, 2], 0)
    assert sent.rank is None, "through the switch, to all"


def results_stay_for_two_windows(make: Make) -> None:
    bench = make()
    for block in range(8):
        bench.send([0, 1, 2], block)
    (sent,) = bench.send([2], 0, RESEND)
    assert elements(sent) == bench.total([0, 1, 2], 0)


def what_is_gone_is_said_to_be_gone(make: Make) -> None:
    bench = make()
    for block in range(9):
        bench.send([0, 1, 2], block)
    (sent,) = bench.send([2], 0, RESEND)
    assert (sent.rank, sent.header.kind, sent.payload) == (2, DatagramKind.REMINDER_EMPTY, b"")
    assert not bench.told(BlockLost), "nobody may wait for it: that is a late copy, or a worker that started anew"
    assert not bench.send([2], 0)
    assert bench.reasons == ["stale"]


def a_collision_moves_the_entry(make: Make) -> None:
    bench = make()
    for rank in range(3):
        results = bench.send([rank], 0, COLLISION if rank == 1 else 0)
    header = results[0].header
    assert header.flags & DatagramFlag.COLLISION
    assert (header.slot, header.new_slot) == (0, header.new_slot)
    assert header.new_slot not in (0, *(bench.server._slots[entry] for entry in (1, 2, 3)))
    (again,) = bench.send([0], 0, RESEND)
    assert (again.header.new_slot, again.header.flags) == (header.new_slot, header.flags), (
        "who hears it late moves, too"
    )
    (sent,) = bench.send([0, 1, 2], 4, slot=header.new_slot)
    assert not sent.header.flags & DatagramFlag.COLLISION
    assert sent.header.new_slot == header.new_slot


def exponents_are_the_largest(make: Make) -> None:
    bench = make(dtype="float32")
    bench.send([0], 0, exponent0=3, exponent1=-9)
    bench.send([1], 0, exponent0=-2, exponent1=-4)
    (sent,) = bench.send([2], 0, exponent0=1, exponent1=-126)
    assert (sent.header.exponent0, sent.header.exponent1) == (3, -4)


def sums_wrap(make: Make) -> None:
    bench = make()
    bench.send([0], 0, values=[2**31 - 1, 5])
    bench.send([1], 0, values=[1, 6])
    (sent,) = bench.send([2], 0, values=[0, 7])
    assert (elements(sent), sent.header.flags) == ([-(2**31), 18], 0)


def saturated_sums_say_so(make: Make) -> None:
    bench = make(dtype="int32sat")
    bench.send([0], 0, values=[2**31 - 1, 5])
    bench.send([1], 0, values=[1, 6])
    (sent,) = bench.send([2], 0, values=[-7, 7])
    assert sent.header.flags & DatagramFlag.OVERFLOW
    bench.send([0], 1, DatagramFlag.OVERFLOW, values=[2**31 - 1, 5])
    bench.send([1], 1, values=[0, 6])
    (sent,) = bench.send([2], 1, values=[0, 7])
    assert sent.header.flags & DatagramFlag.OVERFLOW, "a switch saw it"


def parts_that_saturated_do_not_spoil_the_whole(make: Make) -> None:
    bench = make(dtype="int32sat")
    for flag in (0, DatagramFlag.OVERFLOW):
        block = bool(flag)
        bench.send([0], block, flag, values=[2**31 - 1, 5])
        bench.send([1], block, values=[1, 6])
        (sent,) = bench.send([0, 1, 2], block, values=[2**31 - 5, 7])
        assert not sent.header.flags & DatagramFlag.OVERFLOW


def an_overflow_goes_with_the_packet_that_is_replaced(make: Make) -> None:
    for flag in (0, DatagramFlag.OVERFLOW):
        bench = make(dtype="int32sat")
        bench.send([0], 0, flag, values=[2**31 - 1, 5])
        bench.send([1], 0, values=[1, 6])
        (sent,) = bench.send([0, 2], 0, RESEND, values=[-7, 1])
        assert elements(sent) == [-6, 7]
        assert not sent.header.flags & DatagramFlag.OVERFLOW


def marks_go_back_to_the_workers(make: Make) -> None:
    bench = make()
    bench.send([0], 0)
    assert not bench.sums
    header = bench.server._header._replace(kind=DatagramKind.DATA, sequence=1, bitmap0=2, nelem=2)
    bench.receive(0, header, bytes(8), tos=3)
    (sent,) = bench.send([2], 0)
    assert sent.header.flags & DatagramFlag.ECN


def who_goes_ahead_of_results_is_named(make: Make) -> None:
    bench = make()
    bench.send([0], 0)
    assert not bench.send([0], 4)
    assert bench.reasons == ["overrun"]


def an_open_block_is_asked_for(make: Make) -> None:
    """First the switch, then, when it has nothing, the workers that are missing."""
    bench = make("esa")
    bench.send([0], 0)
    (reminder,) = bench.wait()
    assert (reminder.rank, reminder.header.kind, reminder.header.slot) == (None, DatagramKind.REMINDER, 0)
    asked = bench.send([], 0, kind=DatagramKind.REMINDER_EMPTY, bitmap0=0)
    assert [(sent.rank, sent.header.kind) for sent in asked] == [(1, DatagramKind.NACK), (2, DatagramKind.NACK)]
    assert not bench.send([], 0, kind=DatagramKind.REMINDER_EMPTY, bitmap0=0), "one of several switches speaks for all"
    bench.send([1], 0, RESEND)
    assert len(bench.send([2], 0, RESEND)) == 1


def a_reminder_without_an_answer_is_no_end(make: Make) -> None:
    bench = make("esa")
    bench.send([0], 0)
    bench.wait()
    kinds = [sent.header.kind for sent in bench.wait()]
    assert sorted(kinds) == sorted([DatagramKind.NACK, DatagramKind.NACK, DatagramKind.REMINDER])


def what_a_switch_held_is_added_and_the_rest_asked_for(make: Make) -> None:
    bench = make("esa")
    bench.send([0], 0)
    bench.wait()
    asked = bench.send([1], 0, EVICTED)
    assert [(sent.rank, sent.header.kind) for sent in asked] == [(2, DatagramKind.NACK)]


def a_block_that_three_others_overtake_is_asked_for_at_once(make: Make) -> None:
    bench = make("esa")
    bench.send([0], 0)
    for block in (1, 2, 3):
        assert bench.server.get_timer() != bench.now
        bench.send([0, 1, 2], block)
    assert bench.server.get_timer() == bench.now
    assert [sent.header.kind for sent in bench.wait()] == [DatagramKind.REMINDER]


def copies_of_results_are_kept_and_not_sent(make: Make) -> None:
    bench = make("esa")
    assert not bench.send([0, 1, 2], 0, kind=DatagramKind.RESULT)
    assert not bench.sums
    (sent,) = bench.send([1], 0, RESEND)
    assert (sent.rank, elements(sent)) == (1, bench.total([0, 1, 2], 0))


def a_result_that_a_worker_gives_goes_to_all(make: Make) -> None:
    bench = make("esa")
    bench.send([0], 0, RESEND)
    bench.wait()
    bench.send([], 0, kind=DatagramKind.REMINDER_EMPTY, bitmap0=0)
    (sent,) = bench.send([0, 1, 2], 0, RESEND)
    assert (sent.rank, elements(sent)) == (None, bench.total([0, 1, 2], 0))
    assert not bench.send([0, 1, 2], 0, RESEND), "both were asked, and both had it"


def what_nobody_has_is_lost(make: Make) -> None:
    bench = make(again=True)
    bench.send([0, 1], 5, EVICTED)
    (asked,) = bench.wait()
    assert (asked.rank, asked.header.kind) == (2, DatagramKind.NACK)
    told = bench.send([2], 5, kind=DatagramKind.REMINDER_EMPTY, values=[])
    assert [(sent.rank, sent.header.kind) for sent in told] == [(rank, DatagramKind.REMINDER_EMPTY) for rank in (0, 1)]
    assert [(lost.block, lost.waiting, lost.missing) for lost in bench.told(BlockLost)] == [(5, (0, 1), 2)]


def a_packet_of_another_size_is_thrown_away(make: Make) -> None:
    bench = make()
    bench.send([0], 0)
    bench.send([1], 0, values=[1, 2, 3, 4])
    assert bench.reasons == ["mismatch"]


CASES: dict[str, Callable[[Make], None]] = {
    case.__name__: case
    for case in (
        disjoint_parts_are_added, partial_sums_are_added, a_packet_of_all_is_the_sum, a_repeated_part_counts_once,
        an_overlapping_sum_is_thrown_away_as_a_whole, a_wider_packet_replaces_those_inside_it, blocks_do_not_mix,
        who_asks_again_gets_the_result_alone,
        a_whole_sum_again_frees_the_slot_again, results_stay_for_two_windows, what_is_gone_is_said_to_be_gone,
        a_collision_moves_the_entry, exponents_are_the_largest, sums_wrap, saturated_sums_say_so,
        parts_that_saturated_do_not_spoil_the_whole, an_overflow_goes_with_the_packet_that_is_replaced,
        marks_go_back_to_the_workers, who_goes_ahead_of_results_is_named,
        an_open_block_is_asked_for,
        a_reminder_without_an_answer_is_no_end, what_a_switch_held_is_added_and_the_rest_asked_for,
        a_block_that_three_others_overtake_is_asked_for_at_once, copies_of_results_are_kept_and_not_sent,
        a_result_that_a_worker_gives_goes_to_all, what_nobody_has_is_lost, a_packet_of_another_size_is_thrown_away,
    )
}  # fmt: skip
