"""A server whose results wait for the whole gradient."""

from __future__ import annotations

from tests.support.server_bench import RESEND, ServerBench

EVERYBODY = [0, 1, 2]


def blocks(departures):
    return [departure.header.sequence - 1 for departure in departures]


def test_results_leave_together_and_in_order_when_the_last_sum_is_complete():
    bench = ServerBench(gradient_blocks=3)
    assert blocks(bench.send(EVERYBODY, 2)) == []
    assert blocks(bench.send(EVERYBODY, 0)) == []
    assert blocks(bench.send(EVERYBODY, 1)) == [0, 1, 2]


def test_who_asks_for_a_sum_that_waits_gets_it_alone():
    bench = ServerBench(gradient_blocks=3)
    bench.send(EVERYBODY, 0)
    (answer,) = bench.send([1], 0, RESEND)
    assert (answer.rank, answer.header.sequence) == (1, 1)


def test_what_an_iteration_left_behind_does_not_leave_with_the_next():
    bench = ServerBench(gradient_blocks=2)
    bench.send(EVERYBODY, 0)
    assert blocks(bench.send(EVERYBODY, 2)) == []
    assert blocks(bench.send(EVERYBODY, 3)) == [2, 3]


def test_without_the_number_each_sum_leaves_at_once():
    bench = ServerBench()
    assert blocks(bench.send(EVERYBODY, 1)) == [1]
