"""Whole jobs over machines of several workers, judged by the stock checkers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from testbed.faults.model import Duplicate, Loss, Reorder
from testbed.history import Record
from testbed.hunt.judge import run_and_judge
from testbed.plan import make_plan
from testbed.scenario.keys.job import Straggler
from testbed.scenario.model import Job, Scenario, SwitchOptions, Transport
from testbed.worlds.simulated import Simulation
from topologies import LinkShape, machines
from workloads.events import CollectiveCompleted, Retransmission

INSIDE, UPLINK = LinkShape(rate_bps=200_000_000), LinkShape(rate_bps=50_000_000, delay_ns=20_000)


def scenario_of(protocol: str, count: int = 3, each: int = 2, *faults: Any, seed: int = 1, **job: Any) -> Scenario:
    topology = machines(count, each, INSIDE, UPLINK)
    program = "netreduce" if protocol == "parallel_netreduce" else "forward"
    options = {"size_bytes": 30_000, "message_packets": 8, "window_messages": 2, "iterations": 2, **job}
    every = tuple(link.name for link in topology.links)
    return Scenario(
        "t", topology, INSIDE, seed=seed, world="simulated", transport=Transport(timeout_code=11),
        switch=SwitchOptions(program), job=Job(protocol=protocol, **options),
        faults=tuple(replace(fault, links=every) for fault in faults), time_limit_ns=60_000_000_000,
    )  # fmt: skip


PHASED = ("parallel_netreduce", "tencent")


@pytest.mark.parametrize("protocol", PHASED)
@pytest.mark.parametrize(("count", "each"), [(2, 2), (2, 3), (3, 4), (4, 1)])
def test_every_shape_of_machines(protocol: str, count: int, each: int) -> None:
    """The number of elements is no multiple of anything, so that pieces and chunks are uneven."""
    failure, history = run_and_judge(scenario_of(protocol, count, each, size_bytes=4 * 2_999))
    assert failure is None
    assert sum(isinstance(record.event, CollectiveCompleted) for record in history) == 2 * count * each


@pytest.mark.parametrize("protocol", PHASED)
@pytest.mark.parametrize(("dtype", "op"), [("int32", "sum"), ("float32", "max"), ("int32sat", "max"), ("int32", "xor")])
def test_every_arithmetic(protocol: str, dtype: str, op: str) -> None:
    failure, _ = run_and_judge(scenario_of(protocol, 2, 3, dtype=dtype, op=op, size_bytes=8_000, iterations=1))
    assert failure is None


@pytest.mark.parametrize("protocol", PHASED)
@pytest.mark.parametrize("elements", [3, 5])
def test_fewer_elements_than_packets_and_ranks(protocol: str, elements: int) -> None:
    failure, _ = run_and_judge(scenario_of(protocol, 2, 3, size_bytes=4 * elements))
    assert failure is None


@pytest.mark.parametrize("protocol", PHASED)
@pytest.mark.parametrize("pipelined", [True, False])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_loss_on_every_link(protocol: str, pipelined: bool, seed: int) -> None:
    failure, history = run_and_judge(
        scenario_of(protocol, 2, 3, Loss("rain", rate=0.03), seed=seed, pipelined=pipelined)
    )
    assert failure is None
    assert any(isinstance(record.event, Retransmission) for record in history)


@pytest.mark.parametrize(
    "fault", [Duplicate("twice", rate=0.1, delay_ns=100_000), Reorder("late", rate=0.1, delay_ns=50_000)]
)
def test_duplicates_and_disorder(fault: Any) -> None:
    failure, _ = run_and_judge(scenario_of("parallel_netreduce", 2, 2, fault))
    assert failure is None


def test_a_worker_that_is_late_holds_up_all_and_breaks_nothing() -> None:
    failure, _ = run_and_judge(scenario_of("parallel_netreduce", 2, 2, straggler=Straggler(3, 5_000_000)))
    assert failure is None


def test_send_instead_of_write_and_late_receives() -> None:
    scenario = scenario_of("parallel_netreduce", 2, 2)
    transport = replace(scenario.transport, verb="send", receive_late_ns=300_000)
    failure, _ = run_and_judge(replace(scenario, transport=transport))
    assert failure is None


@pytest.mark.parametrize("protocol", PHASED)
def test_the_compiled_loop_and_the_reference_tell_the_same(protocol: str) -> None:
    plan = make_plan(replace(scenario_of(protocol, 2, 2, Loss("rain", rate=0.03)), capture=False))
    told: list[list[Record]] = [[], []]
    for native in (True, False):
        Simulation(plan, told[native].append, native=native).run()
    assert told[True] == told[False]


def phase_seconds(history: list[Record], phase: str) -> float:
    """From the first worker's start to the last one's end."""
    times = [r.t for r in history if r.name.startswith("Phase") and r.event.phase == phase]
    return float(max(times) - min(times)) / 1e9


def test_rings_share_the_uplink_of_their_machine() -> None:
    """All workers of a machine together send one gradient by its uplink: the phase takes as long as with one worker."""
    seconds = []
    for each in (1, 2, 4):
        job = {"size_bytes": 400_000, "iterations": 1, "window_messages": 60, "hello": False}
        history: list[Record] = []
        scenario = replace(
            scenario_of("parallel_netreduce", 2, each, **job), transport=Transport(timeout_code=18), capture=False
        )
        Simulation(make_plan(scenario), history.append).run()
        seconds.append(phase_seconds(history, "netreduce"))
    gradient_s = 400_000 * 8 / 50_000_000 * 1082 / 1024
    assert all(gradient_s < found < 1.05 * gradient_s for found in seconds)


def test_a_step_that_waits_for_the_one_before_takes_longer_than_a_pipelined_one() -> None:
    ends = []
    for pipelined in (True, False):
        failure, history = run_and_judge(
            scenario_of("ring", 2, 2, pipelined=pipelined, size_bytes=200_000, iterations=1)
        )
        assert failure is None
        ends.append(max(r.event.completed_ns for r in history if isinstance(r.event, CollectiveCompleted)))
    assert ends[0] < 0.98 * ends[1]
