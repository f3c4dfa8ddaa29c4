"""Rings installed, kept and removed while the switch runs: in the reference and in the compiled program."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from switch_nodes.config import SwitchConfig
from switch_nodes.events import RingsInstalled, SlotsAtEnd
from switch_nodes.forwarding.frame_queue import switch_library
from switch_nodes.netreduce import NetReduceProgram
from tests.support.batches import fast_netreduce
from tests.support.netreduce_harness import Bench, Job
from workloads.errors import ScenarioError

no_compiler = pytest.mark.skipif(switch_library() is None, reason="no C compiler: the reference runs")
Make = Callable[[SwitchConfig], NetReduceProgram]
pytestmark = pytest.mark.parametrize(
    "make", [NetReduceProgram, pytest.param(fast_netreduce, marks=no_compiler)], ids=["reference", "compiled"]
)
FIRST = Job(lengths=(1, 4, 4, 4))
SECOND = replace(FIRST, base_qpn=0x300, start_psn=0x1234, seed=2)
"""the next job of the same hosts: new queue pairs, messages from 0 again"""
BESIDE = Job(ring_id=8, size=2, first_port=3, base_qpn=0x500, lengths=(1, 4, 4))
"""another ring on other ports"""


def bench_of(make: Make) -> tuple[Bench, Bench]:
    """Two rings side by side on one program, each with a bench of its own."""
    first = Bench(FIRST, make, ports=5, rings=(FIRST.ring(), BESIDE.ring()), macs=())
    beside = Bench(BESIDE, make, ports=5, macs=())
    beside.program = first.program
    return first, beside


def next_job(first: Bench) -> Bench:
    bench = Bench(SECOND, first.make)
    bench.program = first.program
    return bench


def test_without_a_new_installation_a_second_job_gets_no_result(make: Make) -> None:
    """What a new generation is for: tags and connections are those of the first job."""
    first, _ = bench_of(make)
    first.run_through(4)
    second = next_job(first)
    assert second.everyone(0, 0) == []


def test_a_new_generation_starts_anew_and_its_neighbour_goes_on(make: Make) -> None:
    first, beside = bench_of(make)
    first.run_through(4)
    beside.run_through(2)
    first.program.install((replace(FIRST.ring(), generation=1), BESIDE.ring()))
    for offset in range(4):
        assert beside.everyone(2, offset) == beside.all_of(2, offset)
    second = next_job(first)
    second.run_through(4)
    told = first.take(RingsInstalled) + beside.take(RingsInstalled) + second.take(RingsInstalled)
    assert told == [RingsInstalled((7,), (7,), (8,))]


def test_a_ring_in_the_middle_of_a_message_can_be_replaced(make: Make) -> None:
    first, _ = bench_of(make)
    first.run_through(1)
    first.data(0, 1, 0)
    first.data(1, 1, 0)
    first.program.install((replace(FIRST.ring(), generation=1),))
    second = next_job(first)
    second.run_through(4)
    (slots,) = second.take(SlotsAtEnd)[:1] or first.take(SlotsAtEnd)[:1]
    assert (slots.ring_id, slots.open) == (7, 1)  # type: ignore[attr-defined]


def test_a_removed_ring_is_forwarded_like_anything_else(make: Make) -> None:
    first, _ = bench_of(make)
    first.run_through(1)
    first.program.install(())
    before = first.counters()["data_in"]
    frame = first.job.frame(0, 1, 0)
    sent = first.feed(frame, first.job.port(0))
    assert [data for _, data in sent] == [frame] * len(sent)
    assert sent
    assert first.counters()["data_in"] == before


def test_rings_that_cannot_be_installed_change_nothing(make: Make) -> None:
    first, _ = bench_of(make)
    first.run_through(1)
    with pytest.raises(ScenarioError, match="ring 7 is installed twice"):
        first.program.install((FIRST.ring(), FIRST.ring()))
    with pytest.raises(ScenarioError, match="path MTU"):
        first.program.install((replace(FIRST.ring(), path_mtu=1000),))
    first.run_after(1)
    assert first.take(RingsInstalled) == []


def test_a_ring_that_is_named_again_as_it_is_keeps_its_state(make: Make) -> None:
    first, _ = bench_of(make)
    first.run_through(2)
    first.program.install((BESIDE.ring(), FIRST.ring()))
    first.run_after(2)
    assert first.take(RingsInstalled) == [RingsInstalled((), (), (8, 7))]
