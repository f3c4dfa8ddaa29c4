"""Whole jobs of all-reduces in pairs of hosts, judged by the stock checkers and held against closed forms."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from testbed.checkers.context import CheckContext
from testbed.faults.model import Duplicate, Loss, Reorder
from testbed.figures.metrics import bound_bps
from testbed.history import Record
from testbed.hunt.judge import run_and_judge
from testbed.plan import make_plan
from testbed.protocols.rabenseifner.keys import RabenseifnerKeys
from testbed.scenario.keys.job import Straggler
from testbed.scenario.model import Job, Scenario, SwitchOptions, Transport
from testbed.worlds.simulated import Simulation, simulate
from tests.support.schedules import SCHEDULES
from tests.support.selection import some_at_once
from topologies import LinkShape, Topology, rack, spine_leaf
from workloads.costs import flat, sent_bytes
from workloads.events import CollectiveCompleted, CollectiveStarted, RcStatistics, Retransmission

SHAPE = LinkShape(rate_bps=100_000_000, delay_ns=20_000)
FAR = "rabenseifner far"
NAMES = (*SCHEDULES, FAR)
MTU, FRAME = 1024, 1082


def scenario_of(protocol: str, hosts: int | Topology, *faults: Any, seed: int = 1, **job: Any) -> Scenario:
    if protocol == FAR:
        protocol, job = "rabenseifner", {"own": RabenseifnerKeys("far"), **job}
    topology = rack(hosts, SHAPE) if isinstance(hosts, int) else hosts
    options = {"size_bytes": 28_004, "message_packets": 8, "iterations": 2, **job}
    every = tuple(link.name for link in topology.links)
    return Scenario(
        "t", topology, SHAPE, seed=seed, world="simulated", transport=Transport(timeout_code=11),
        switch=SwitchOptions("forward"), job=Job(protocol=protocol, **options),
        faults=tuple(replace(fault, links=every) for fault in faults), time_limit_ns=60_000_000_000,
    )  # fmt: skip


def with_transport(scenario: Scenario, **options: Any) -> Scenario:
    return replace(scenario, transport=replace(scenario.transport, **options))


def completed(history: list[Record]) -> int:
    return sum(isinstance(record.event, CollectiveCompleted) for record in history)


@pytest.mark.parametrize("protocol", NAMES)
@pytest.mark.parametrize("recovery", ["gbn", "irn"])
@pytest.mark.parametrize("hosts", [2, 3, 5, 6, 8])
def test_loss_on_every_link(protocol: str, recovery: str, hosts: int) -> None:
    scenario = scenario_of(protocol, hosts, Loss("rain", rate=0.03))
    failure, history = run_and_judge(with_transport(scenario, recovery=recovery))
    assert failure is None
    assert completed(history) == 2 * hosts
    assert any(isinstance(record.event, Retransmission) for record in history)


@pytest.mark.parametrize("protocol", some_at_once(NAMES, late=["sharded_ps"]))
@settings(max_examples=25, deadline=None)
@given(hosts=st.integers(2, 12), elements=st.integers(12, 5_000), seed=st.integers(0, 99), loss=st.sampled_from([0, 2]))
def test_any_number_of_hosts_and_elements(protocol: str, hosts: int, elements: int, seed: int, loss: int) -> None:
    faults = (Loss("rain", rate=loss / 100),) if loss else ()
    failure, history = run_and_judge(scenario_of(protocol, hosts, *faults, seed=seed, size_bytes=4 * elements))
    assert failure is None
    assert completed(history) == 2 * hosts


@pytest.mark.parametrize("protocol", NAMES)
@pytest.mark.parametrize(("dtype", "op"), [("int32", "sum"), ("float32", "max"), ("int32sat", "max"), ("int32", "xor")])
def test_every_arithmetic(protocol: str, dtype: str, op: str) -> None:
    failure, _ = run_and_judge(scenario_of(protocol, 7, dtype=dtype, op=op, size_bytes=8_000, iterations=1))
    assert failure is None


@pytest.mark.parametrize("protocol", NAMES)
def test_special_values(protocol: str) -> None:
    """NaNs, infinities and zeros of both signs: both ends of a pair must end with the same bits."""
    failure, _ = run_and_judge(scenario_of(protocol, 6, workload="special"))
    assert failure is None


@pytest.mark.parametrize("protocol", NAMES)
@pytest.mark.parametrize(
    "fault", [Duplicate("twice", rate=0.1, delay_ns=100_000), Reorder("late", rate=0.1, delay_ns=50_000)]
)
def test_duplicates_and_disorder(protocol: str, fault: Any) -> None:
    failure, _ = run_and_judge(scenario_of(protocol, 5, fault))
    assert failure is None


@pytest.mark.parametrize("protocol", NAMES)
def test_a_late_worker_send_instead_of_write_and_late_receives(protocol: str) -> None:
    scenario = scenario_of(protocol, 6, straggler=Straggler(3, 5_000_000))
    failure, _ = run_and_judge(with_transport(scenario, verb="send", receive_late_ns=300_000))
    assert failure is None


@pytest.mark.parametrize("protocol", NAMES)
def test_over_several_switches(protocol: str) -> None:
    failure, _ = run_and_judge(scenario_of(protocol, spine_leaf([2, 2, 2], 2, SHAPE), Loss("rain", rate=0.02)))
    assert failure is None


@pytest.mark.parametrize("protocol", NAMES)
def test_the_compiled_loop_and_the_reference_tell_the_same(protocol: str) -> None:
    plan = make_plan(replace(scenario_of(protocol, 5, Loss("rain", rate=0.03)), capture=False))
    told: list[list[Record]] = [[], []]
    for native in (True, False):
        Simulation(plan, told[native].append, native=native).run()
    assert told[True] == told[False]


def seconds_of(history: list[Record]) -> float:
    start = min(record.t for record in history if isinstance(record.event, CollectiveStarted))
    ends = [record.event.completed_ns for record in history if isinstance(record.event, CollectiveCompleted)]
    return (max(ends) - start) / 1e9


@pytest.mark.parametrize("protocol", NAMES)
@pytest.mark.parametrize("hosts", [2, 4, 8, 16])
@pytest.mark.parametrize("size", [40_960, 1_048_576])
def test_the_time_is_that_of_the_closed_form(protocol: str, hosts: int, size: int) -> None:
    """alpha follows from the links: the last frame crosses the switch whole, its ACK comes back over both links."""
    scenario = scenario_of(protocol, hosts, size_bytes=size, iterations=1, message_packets=170)
    quiet = replace(with_transport(scenario, timeout_code=18), capture=False)
    ack_s, frame_s, delays_s = 2 * 62 * 8 / 1e8, FRAME * 8 / 1e8, 4 * 20e-6
    closed = getattr(flat, protocol.partition(" ")[0])(hosts, size, 1e8 * MTU / FRAME, ack_s + frame_s + delays_s)
    assert seconds_of(list(simulate(make_plan(quiet)))) == pytest.approx(closed, rel=0.05)


@pytest.mark.parametrize("protocol", NAMES)
@pytest.mark.parametrize("hosts", [2, 4, 8])
def test_packets_and_bytes_of_each_host(protocol: str, hosts: int) -> None:
    """Halves of whole packets: each host sends what the closed form says, in as many full packets."""
    size = MTU * 64
    scenario = scenario_of(protocol, hosts, size_bytes=size, iterations=1)
    plan = make_plan(scenario)
    sent: dict[str, int] = {}
    for record in simulate(plan):
        if isinstance(record.event, RcStatistics):
            sent[record.node] = sent.get(record.node, 0) + record.event.packets_sent
    assert max(sent.values()) == int(sent_bytes(protocol.partition(" ")[0], hosts, size)) // MTU
    assert len(set(sent.values())) == 1 or protocol == "binomial_tree"
    assert len(sent) == hosts
    assert sum(sum(connection.message_packets) for connection in plan.connections) == sum(sent.values())


def test_the_bound_is_the_closed_form_without_latencies() -> None:
    line = 100e6 * MTU / FRAME
    for protocol, hosts, gradients in [
        ("recursive_doubling", 8, 3), ("recursive_doubling", 6, 4), ("rabenseifner", 8, 1.75), ("rabenseifner", 6, 3.5),
        ("binomial_tree", 8, 6), ("binomial_tree", 5, 6), ("sharded_ps", 8, 1.75), ("sharded_ps", 5, 1.6),
    ]:  # fmt: skip
        context = CheckContext(make_plan(scenario_of(protocol, hosts)), ())
        assert bound_bps(context) == pytest.approx(line / gradients)
