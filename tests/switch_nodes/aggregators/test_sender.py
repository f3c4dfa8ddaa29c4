"""What is on packets that leave an aggregator switch: marks, traffic class, and whether they are a rack's."""

from __future__ import annotations

from dataclasses import replace

import pytest

from switch_nodes.jobs import JobConfig, RackLevels
from tests.support.aggregator_bench import EARLY, REAL, Bench, Sent, job_config
from tests.support.aggregator_cases import ECN, EVICTED, OVERFLOW, RESEND, only
from workloads.wire.aggregation import DatagramFlag

EDGE = int(DatagramFlag.EDGE)
TOS = 15


def rack() -> JobConfig:
    """Workers 2 and 3 of four are here; the server is elsewhere."""
    return replace(job_config(workers=4), levels=RackLevels(((0, 1), (2, 3)), 1, collects=False))


def send(bench: Bench, rank: int, flags: int = 0) -> list[Sent]:
    return bench.send(rank, 0, fan_in0=2, fan_in1=2, flags=flags)


def test_only_all_of_a_rack_is_told_to_be_a_racks_sum() -> None:
    bench = Bench(REAL.atp, rack())
    send(bench, 2)
    part = only(send(bench, 2, RESEND))
    assert (part.bitmap, part.header.bitmap1, part.flags) == (0b0100, 0, RESEND)
    send(bench, 2)
    whole = only(send(bench, 3))
    assert (whole.bitmap, whole.header.bitmap1, whole.flags) == (0b1100, 0b10, EDGE)
    again = only(send(bench, 3, RESEND))
    assert (again.bitmap, again.header.bitmap1, again.flags) == (0b1100, 0b10, EDGE | RESEND)


@pytest.mark.parametrize(("first", "more"), [(2**31 - 1, OVERFLOW), (0, 0)])
def test_an_occupant_that_is_evicted_says_that_it_overflowed_or_was_marked(first: int, more: int) -> None:
    one, two = job_config(3, dtype="int32sat"), job_config(4, first=4)
    for ce in (False, True):
        bench = Bench(REAL.esa, one, two)
        bench.send(0, 0, [first], job=one)
        bench.send(1, 0, [1], job=one, ce=ce)
        (out,) = bench.send(0, 0, job=two, priority=9)
        assert (out.bitmap, out.flags, out.values) == (
            0b011,
            EVICTED | more | (ECN if ce else 0),
            [first + (first == 0)],
        )


def test_sums_and_results_keep_their_traffic_class_and_mark() -> None:
    for mark, tos in ((False, 2), (True, 3)):
        bench = Bench(REAL.atp)
        bench.send(0, 0)
        bench.send(1, 0)
        assert only(bench.send(2, 0, ce=mark)).frame[TOS] == tos
        assert {sent.frame[TOS] for sent in bench.result(0, ce=mark)} == {tos}


def test_a_copy_of_a_sum_goes_to_the_server_where_that_is_told() -> None:
    for copy, ports in ((False, {0, 1, 2}), (True, {0, 1, 2, 3})):
        knobs = replace(EARLY, ps_copy=copy)
        assert {sent.port for sent in Bench(REAL.esa, knobs=knobs).fill(0)} == ports


def test_with_one_level_no_racks_are_told() -> None:
    sent = only(Bench(REAL.atp).fill(0))
    assert (sent.header.bitmap1, sent.header.fan_in1, sent.flags) == (0, 0, 0)
