"""Emulated time at the edges of the world."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from switch_nodes.dataplane import EmulatedClock
from testbed.checkers import CheckContext
from testbed.faults.events import FaultStruck
from testbed.faults.model import Delay, Drop, Duplicate, Reorder
from testbed.figures.metrics import metrics
from testbed.history import sort_history
from testbed.history.records import of_kind
from testbed.kernel.load import read_machine
from testbed.plan import make_plan
from testbed.scenario import load_scenario
from testbed.worlds.emulated import EmulatedWorld
from testbed.worlds.emulated.dilation import (
    KernelShape,
    clock_of,
    exact_dilation,
    is_exact,
    kernel_shape,
    most_dilation,
    not_dilated,
    refuse_dilation,
)
from testbed.worlds.emulated.kernel_faults import in_real_time
from testbed.worlds.simulated.world import simulate
from workloads.errors import ScenarioError
from workloads.events import CollectiveCompleted

TCP = "background=[{name: bulk, kind: tcp, from: h1, to: h2}]"


def plan_of(*changes: str, name: str = "rack", **fields: Any):
    return make_plan(replace(load_scenario(name, changes), **fields))


@given(st.integers(1, 10_000), st.integers(1_000_000, 100_000_000_000), st.integers(256, 9000))
def test_what_the_kernel_keeps_is_the_rate_of_the_scenario(dilation: int, rate_bps: int, mtu: int) -> None:
    shape, exact = (kernel_shape(EmulatedClock(dilation), rate_bps, mtu, exact=exact) for exact in (False, True))
    assert shape.rate_bps % 8 == 0
    assert 0 <= rate_bps - shape.emulated_bps < 9 * dilation
    assert shape.burst_bytes >= 2 * mtu
    assert shape.ahead_ns <= 1_000_000
    assert exact == replace(shape, burst_bytes=exact.burst_bytes)


def shapes_of(*factors: int, exact: bool) -> list[KernelShape]:
    return [kernel_shape(EmulatedClock(factor), 100_000_000, 1500, exact=exact) for factor in factors]


def test_dilation_makes_bursts_and_what_a_nic_holds_shorter() -> None:
    burst_s = [shape.burst_bytes * 8 / 1e8 for shape in shapes_of(1, 10, 1000, exact=False)]
    assert burst_s == pytest.approx([0.004, 0.0004, 3036 * 8 / 1e8])
    assert [shape.ahead_ns for shape in shapes_of(1, 2, 10, exact=False)] == [1_000_000, 1_000_000, 200_000]


def test_where_frames_come_one_by_one_no_two_pass_at_once() -> None:
    """A frame of 1,082 bytes takes 2.2 ms of real time at a factor of 25: the burst covers none."""
    assert [shape.burst_bytes for shape in shapes_of(25, 1000, 100_000, exact=True)] == [500, 12, 1]


def test_frames_arrive_one_by_one_where_there_is_time_for_it() -> None:
    plan = plan_of()
    frame_s = plan.workers[0].framing.frame_bytes * 8 / 1e8
    enough = exact_dilation(plan)
    assert enough * frame_s >= len(plan.scenario.topology.links) * 0.25e-3 > (enough - 1) * frame_s
    assert exact_dilation(plan_of("topology.hosts=16")) == pytest.approx(4 * enough, rel=0.05)
    assert [is_exact(plan_of(dilation=factor)) for factor in (enough - 1, enough)] == [False, True]


def test_frames_that_are_few_on_average_arrive_one_by_one_sooner() -> None:
    """33 links, full, of 4 Mb/s as the server's: 14,900 frames a second, which is for a factor of 4. On average of the
    run they are 510."""
    program = ("switch.program=atp", "job.protocol=atp")
    assert exact_dilation(plan_of(*program, name="jobs-8")) == 1


def test_a_frame_takes_half_a_millisecond_where_frames_arrive_one_by_one() -> None:
    computing = "job.compute={ratio: 1000}"
    plan = plan_of(computing, name="switchml")
    frame_s = plan.workers[0].framing.frame_bytes * 8 / plan.scenario.topology.links[0].shape.rate_bps
    enough = exact_dilation(plan)
    assert enough * frame_s >= 0.5e-3 > (enough - 1) * frame_s
    beside = ("topology.hosts=5", "job.hosts=[h1, h2, h3, h4]", "topology.links={h5-s1: {rate: 1Gbps}}")
    assert exact_dilation(plan_of(computing, *beside, name="switchml")) == enough, "no data pass the fast link"


def test_whoever_runs_it_chooses_first() -> None:
    with pytest.raises(ScenarioError, match="the factor is not chosen yet"):
        clock_of(plan_of("dilation=auto").scenario)


def test_a_device_keeps_its_own_time() -> None:
    refuse_dilation(plan_of(nics=(("h2", "mlx5_0"),), dilation=1))
    with pytest.raises(ScenarioError) as refused:
        refuse_dilation(plan_of(nics=(("h2", "mlx5_0"),), dilation=2))
    assert str(refused.value) == (
        "scenario: dilation: h2 is on the RDMA device mlx5_0, which keeps its own time (nics.h2); found 2; allowed: 1, "
        "or nics.h2: soft"
    )


def test_a_link_that_would_be_too_slow_is_named() -> None:
    slow = ("topology.links={h3-s1: {rate: 1Mbps}}", "job.size=40kB")
    assert most_dilation(plan_of(*slow)) == 125
    refuse_dilation(plan_of(*slow, dilation=125))
    with pytest.raises(ScenarioError) as refused:
        refuse_dilation(plan_of(*slow, dilation=190))
    assert str(refused.value) == (
        "scenario: dilation: link h3-s1 would have 5,263 bit/s in real time; the kernel keeps 8,000 or more exactly; "
        "found 190; "
        "allowed: at most 125 with this link, or one that leaves it whole bytes per second"
    )


@pytest.mark.parametrize(
    ("factor", "kept"), [(125, True), (189, True), (190, False), (200, True), (1000, True), (1250, False)]
)
def test_a_slower_link_is_kept_where_it_has_whole_bytes_per_second(factor: int, kept: bool) -> None:
    plan = plan_of("topology.links={h3-s1: {rate: 1Mbps}}", "job.size=40kB", dilation=factor)
    if kept:
        refuse_dilation(plan)
    else:
        with pytest.raises(ScenarioError, match="would have"):
            refuse_dilation(plan)


def test_what_is_not_dilated_is_named() -> None:
    assert not_dilated(plan_of(TCP), set()) == ()
    assert not_dilated(plan_of(dilation=5), set()) == ()
    assert not_dilated(plan_of(TCP, dilation=5), {"tor"}) == (
        "background flow bulk: the kernel's TCP and its timers",
        "Open vSwitch (tor) and its controller",
    )


def test_what_the_kernel_holds_back_it_holds_back_in_real_time() -> None:
    clock, links = EmulatedClock(10), ("h1-s1",)
    assert in_real_time(Delay("d", links, delay_ns=3, jitter_ns=2), clock) == Delay(
        "d", links, delay_ns=30, jitter_ns=20
    )
    assert in_real_time(Duplicate("d", links, delay_ns=3), clock) == Duplicate("d", links, delay_ns=30)
    assert in_real_time(Reorder("d", links, delay_ns=3), clock) == Reorder("d", links, delay_ns=30)
    assert in_real_time(Drop("d", links), clock) == Drop("d", links)


def test_the_machine_is_read(tmp_path: Path) -> None:
    stat, pressure = tmp_path / "stat", tmp_path / "cpu"
    stat.write_text("cpu  100 10 20 999 999 3 4 50 0 0\ncpu0 1 1 1 1 1 1 1 1 0 0\n")
    found = read_machine(stat, pressure)
    assert found is not None
    assert (found.busy_ns, found.stolen_ns, found.pressure_ns) == (137 * 10**7, 50 * 10**7, None)
    pressure.write_text("some avg10=0.00 avg60=0.00 avg300=0.00 total=1234\nfull avg10=0.00 total=9\n")
    found = read_machine(stat, pressure)
    assert found is not None
    assert found.pressure_ns == 1_234_000
    assert read_machine(tmp_path / "none", pressure) is None


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="needs uid 0")
@pytest.mark.parametrize("name", ["data-middle-lost", "rack"])
def test_a_slowed_run_sums_and_loses_the_same_in_emulated_time(name: str, tmp_path: Path) -> None:
    dilation = 60
    plan = plan_of("job.size=40kB" if name == "rack" else "trace=false", name=name, dilation=dilation, capture=False)
    virtual = sort_history(simulate(plan))
    records: list[Any] = []
    began = time.monotonic()
    EmulatedWorld().run(plan, tmp_path / "run", records.append)
    took_s = time.monotonic() - began
    real = sort_history(records)

    def results(history: Any) -> Any:
        return {(r.node, r.event.iteration, r.event.sha256) for r in of_kind(history, CollectiveCompleted)}

    def struck(history: Any) -> Any:
        return {(e.fault, e.target, e.flow, e.psn) for e in (r.event for r in of_kind(history, FaultStruck))}

    assert results(real) == results(virtual) != set()
    assert struck(real) == struck(virtual)
    virtual_s = metrics(CheckContext(plan, virtual))["jct_s"]
    real_s = metrics(CheckContext(plan, real))["jct_s"]
    assert took_s > dilation * virtual_s
    assert 0.95 * virtual_s < real_s < 3 * virtual_s


class _EnoughError(Exception):
    pass


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_the_world_shapes_links_for_frames_that_come_one_by_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[bool] = []

    def build(*_: Any, exact: bool, **more: Any) -> None:
        told.append(exact)
        raise _EnoughError

    monkeypatch.setattr("testbed.worlds.emulated.network.build", build)
    enough = exact_dilation(plan_of())
    for number, factor in enumerate((enough - 1, enough)):
        scenario = replace(load_scenario("rack", world="emulated"), dilation=factor)
        with pytest.raises(_EnoughError):
            EmulatedWorld().run(make_plan(scenario), tmp_path / str(number), lambda record: None)
    assert told == [False, True]


@pytest.mark.parametrize("protocol", ["ring", "mesh"])
def test_empty_vectors_have_a_dilation(protocol: str) -> None:
    changes = ["switch.program=forward", f"job.protocol={protocol}", "job.operation=reduce_scatter", "job.size=0B"]
    assert exact_dilation(make_plan(load_scenario("rack", changes))) >= 1
