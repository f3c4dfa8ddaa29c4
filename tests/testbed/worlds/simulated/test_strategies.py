"""Whole jobs of parallelisation strategies, judged by the stock checkers and held against the cost model."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from testbed.checkers.bit_exact import bit_exact
from testbed.checkers.context import CheckContext
from testbed.faults.model import Duplicate, Loss, Reorder
from testbed.figures.metrics import bound_bps
from testbed.history import Record
from testbed.hunt.judge import run_and_judge
from testbed.plan import make_plan
from testbed.protocols.staged.keys import StrategyKeys
from testbed.scenario.model import Job, Scenario, SwitchOptions, Transport
from testbed.worlds.simulated import Simulation, simulate
from topologies import LinkShape, Topology, rack, spine_leaf
from workloads.events import CollectiveCompleted, CollectiveStarted, PhaseCompleted, PhaseStarted
from workloads.strategies import Chain, Operator, price_of
from workloads.strategies.costs import Devices

SHAPE = LinkShape(rate_bps=100_000_000, delay_ns=20_000)
MTU, FRAME = 1024, 1082
MS = 1_000_000
CHAIN = Chain(
    "c", (Operator("a", 40_000, 9_000, 4 * MS), Operator("b", 5_000, 30_000, 2 * MS), Operator("c", 60_000, 4_000))
)


def scenario_of(
    strategy: str, network: int | Topology, *faults: Any, all_reduce: str = "netreduce", **options: Any
) -> Scenario:
    topology = rack(network, SHAPE) if isinstance(network, int) else network
    keys = StrategyKeys(strategy, options.pop("chain", CHAIN), options.pop("divide", 1), all_reduce)
    seed, every = options.pop("seed", 1), tuple(link.name for link in topology.links)
    size = keys.gradient_bytes(len(topology.hosts))
    job = {"message_packets": 8, "iterations": 2, **options}
    return Scenario(
        "t", topology, SHAPE, seed=seed, world="simulated", transport=Transport(timeout_code=12),
        switch=SwitchOptions("netreduce" if all_reduce == "netreduce" else "forward"),
        job=Job(protocol="staged", size_bytes=size, own=keys, **job),
        faults=tuple(replace(fault, links=every) for fault in faults), time_limit_ns=60_000_000_000,
    )  # fmt: skip


ALL_REDUCES = ("netreduce", "ring")


def completed(history: list[Record]) -> int:
    return sum(isinstance(record.event, CollectiveCompleted) for record in history)


@pytest.mark.parametrize("all_reduce", ALL_REDUCES)
@pytest.mark.parametrize("strategy", ["DP", "MP", "DP,MP,DP", "MP,DP,DP"])
@pytest.mark.parametrize("hosts", [2, 3, 5])
def test_loss_on_every_link(all_reduce: str, strategy: str, hosts: int) -> None:
    failure, history = run_and_judge(scenario_of(strategy, hosts, Loss("rain", rate=0.02), all_reduce=all_reduce))
    assert failure is None
    assert completed(history) == 2 * hosts


@pytest.mark.parametrize("all_reduce", ALL_REDUCES)
@settings(max_examples=20, deadline=None)
@given(
    hosts=st.integers(2, 8),
    sizes=st.lists(st.tuples(st.integers(1, 9_000), st.integers(1, 9_000)), min_size=1, max_size=5),
    seed=st.integers(0, 99),
    data=st.data(),
)
def test_any_chain(all_reduce: str, hosts: int, sizes: list[tuple[int, int]], seed: int, data: st.DataObject) -> None:
    chain = Chain("", tuple(Operator(f"o{n}", w, a, 1000 * n) for n, (w, a) in enumerate(sizes)))
    strategy = ",".join(data.draw(st.sampled_from(("DP", "MP"))) for _ in sizes)
    failure, history = run_and_judge(
        scenario_of(strategy, hosts, Loss("rain", rate=0.01), all_reduce=all_reduce, chain=chain, seed=seed)
    )
    assert failure is None
    assert completed(history) == 2 * hosts


@pytest.mark.parametrize("all_reduce", ALL_REDUCES)
@pytest.mark.parametrize(
    "fault", [Duplicate("twice", rate=0.1, delay_ns=100_000), Reorder("late", rate=0.1, delay_ns=50_000)]
)
def test_duplicates_and_disorder(all_reduce: str, fault: Any) -> None:
    failure, _ = run_and_judge(scenario_of("MP,DP,MP", 4, fault, all_reduce=all_reduce))
    assert failure is None


@pytest.mark.parametrize(("dtype", "op"), [("int32", "sum"), ("float32", "max"), ("int32", "xor")])
def test_every_arithmetic(dtype: str, op: str) -> None:
    failure, _ = run_and_judge(scenario_of("MP,DP,MP", 3, dtype=dtype, op=op))
    assert failure is None


@pytest.mark.parametrize("all_reduce", ALL_REDUCES)
def test_over_racks_under_spines(all_reduce: str) -> None:
    fabric = spine_leaf([2, 3, 2], 2, SHAPE)
    failure, _ = run_and_judge(scenario_of("DP,MP,DP", fabric, Loss("rain", rate=0.01), all_reduce=all_reduce))
    assert failure is None


def test_the_compiled_loop_and_the_reference_tell_the_same() -> None:
    plan = make_plan(replace(scenario_of("DP,MP,DP", 4, Loss("rain", rate=0.02)), capture=False))
    told: list[list[Record]] = [[], []]
    for native in (True, False):
        Simulation(plan, told[native].append, native=native).run()
    assert told[True] == told[False]


def test_a_result_that_is_wrong_is_found() -> None:
    """The reference knows where each stage lies, and what it makes of it: the run of another strategy differs."""
    plan = make_plan(scenario_of("DP,MP,DP", 3))
    other = make_plan(scenario_of("DP,MP,DP", 3, all_reduce="ring"))
    history = list(simulate(plan))

    assert bit_exact(CheckContext(plan, history)).verdict.name == "PASS"
    assert bit_exact(CheckContext(other, history)).verdict.name == "FAIL"


def test_stages_follow_one_another_with_computing_between() -> None:
    """On each host: every phase begins when the one before is over and the operator's share of computing is done."""
    history = list(simulate(make_plan(replace(scenario_of("DP,MP,DP", 4, iterations=1), capture=False))))
    stages = [
        ("a.reduce", 1 * MS), ("b.reshard", 0), ("b.reduce", MS // 2), ("c.reshard", 0), ("c.reduce", 0),
    ]  # fmt: skip
    for host in ("h1", "h4"):
        own = [record for record in history if record.node == host]
        before = next(record.t for record in own if isinstance(record.event, CollectiveStarted))
        told = [record for record in own if isinstance(record.event, (PhaseStarted, PhaseCompleted))]
        assert [record.event.phase for record in told] == [name for name, _ in stages for _ in range(2)]
        for place, (_, compute_ns) in enumerate(stages):
            assert told[2 * place].t == before + compute_ns
            before = told[2 * place + 1].t


@pytest.mark.parametrize("hosts", [2, 4, 8])
@pytest.mark.parametrize(("all_reduce", "factor"), [("netreduce", 1.0), ("ring", None)])
@pytest.mark.parametrize("strategy", ["DP", "MP", "DP,MP,DP", "MP,DP,MP"])
def test_an_iteration_takes_what_the_model_says(
    hosts: int, all_reduce: str, factor: float | None, strategy: str
) -> None:
    """Vectors of some megabytes, so that latencies, of which the model has none, are small."""
    chain = Chain("c", tuple(replace(o, weights_bytes=50 * o.weights_bytes, activations_bytes=50 * o.activations_bytes)
                             for o in CHAIN.operators))  # fmt: skip
    scenario = scenario_of(
        strategy, hosts, all_reduce=all_reduce, chain=chain, iterations=1, hello=False, message_packets=64,
        window_messages=8,
    )  # fmt: skip
    quiet = replace(scenario, capture=False, transport=Transport(timeout_code=18))
    history = list(simulate(make_plan(quiet)))
    start = min(record.t for record in history if isinstance(record.event, CollectiveStarted))
    end = max(record.event.completed_ns for record in history if isinstance(record.event, CollectiveCompleted))
    devices = Devices(hosts, 1e8 / 8 * MTU / FRAME, factor)
    predicted = price_of(chain, quiet.job.own.splits(), devices).time_s
    assert (end - start) / 1e9 == pytest.approx(predicted, rel=0.05)


def test_the_bound_is_what_the_stages_send() -> None:
    """Of a gradient that is all vectors one after the other: a switch's stage sends its own once, a reshard 3/4 of
    it."""
    scenario = scenario_of("DP,MP,DP", 4)
    line = 100e6 * MTU / FRAME
    sent = 40_000 + 0.75 * 9_000 + 30_000 + 0.75 * 30_000 + 60_000
    total = 40_000 + 9_000 + 30_000 + 30_000 + 60_000
    assert bound_bps(CheckContext(make_plan(scenario), ())) == pytest.approx(line * total / sent)
