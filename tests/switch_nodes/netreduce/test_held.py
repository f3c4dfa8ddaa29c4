"""What waits in slots: bytes of the very frames, by port, until their results left; and what each slot lacks."""

from __future__ import annotations

import pytest

from switch_nodes.netreduce import create_netreduce
from switch_nodes.netreduce.program import NetReduceProgram
from switch_nodes.program import bytes_in_slots, slot_waits
from tests.support.netreduce_harness import Bench, Job


@pytest.mark.parametrize("make", [NetReduceProgram, create_netreduce])
def test_packets_count_until_their_results_leave(make) -> None:
    bench = Bench(Job(size=4, lengths=(1, 4, 4)), make=make)
    bench.run_through(1)
    assert bytes_in_slots(bench.program) == {}
    held = dict.fromkeys((bench.job.port(rank) for rank in range(4)), 0)
    for rank in (0, 1, 3):
        for offset in range(3):
            bench.data(rank, 1, offset)
            held[bench.job.port(rank)] += len(bench.job.frame(rank, 1, offset))
    assert bytes_in_slots(bench.program) == {port: size for port, size in held.items() if size}
    waits = slot_waits(bench.program)
    assert len(waits) == 3
    assert {wait.missing for wait in waits} == {frozenset({bench.job.port(2)})}
    assert {port: sum(wait.held[port] for wait in waits) for port in waits[0].held} == bytes_in_slots(bench.program)
    bench.data(2, 1, 0)
    assert len(slot_waits(bench.program)) == 2
    for offset in (1, 2):
        bench.data(2, 1, offset)
    assert bytes_in_slots(bench.program) == {}
    assert slot_waits(bench.program) == []


def test_a_repetition_counts_once() -> None:
    bench = Bench(Job(size=3, lengths=(1, 2)))
    bench.run_through(1)
    bench.data(0, 1, 0)
    before = bytes_in_slots(bench.program)
    bench.data(0, 1, 0)
    assert bytes_in_slots(bench.program) == before


def test_a_result_that_waits_for_its_turn_lacks_what_the_head_lacks() -> None:
    """Rule A: message 1, offset 1 is complete, but offset 0 lacks rank 2. All but rank 2 wait for it."""
    bench = Bench(Job(size=3, lengths=(1, 2)))
    bench.run_through(1)
    bench.everyone(1, 0, but=(2,))
    left = {rank for rank, *_ in bench.everyone(1, 1)}
    waits = slot_waits(bench.program)
    assert {wait.missing for wait in waits} == {frozenset({bench.job.port(2)})}
    held = {port for wait in waits for port in wait.held}
    assert held == {bench.job.port(rank) for rank in (0, 1)}
    assert left == {2}


def test_a_program_without_slots_reports_none() -> None:
    assert bytes_in_slots(object()) == {}
    assert slot_waits(object()) == ()
