"""Traces whose sums travel in datagrams, in virtual time: real results, the usual judges, and closed forms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from testbed.checkers.context import CheckContext
from testbed.faults.model import Duplicate, Loss
from testbed.figures.metrics import bound_bps
from testbed.figures.traces import trace_metrics
from testbed.history import Record
from testbed.hunt.judge import run_and_judge
from testbed.plan import Plan, make_plan
from testbed.scenario import load_scenario
from testbed.scenario.model import Scenario
from testbed.worlds.simulated import simulate
from tests.support.left_out import present
from tests.support.traces import COLLECTIVES, node, write_trace
from workloads.datagrams.blocks import BlockSummed
from workloads.errors import InternalError
from workloads.events import CollectiveCompleted, CollectiveStarted, PhaseStarted, WorkerFinished
from workloads.traced_host import with_trace
from workloads.traces.events import TraceNodeEnded
from workloads.traces.program import trace_in
from workloads.wire.aggregation import AGGREGATION_OVERHEAD_BYTES

PROTOCOLS = ("switchml", "atp", "esa", "ps")
ORACLES = [
    f"{kind}-{ranks}"
    for kind in ("all_reduce", "reduce_scatter", "all_gather", "all_to_all")
    for ranks in (4, 8)
]  # fmt: skip


def scenario_of(protocol: str, path: str | Path, ranks: int, *faults: Any, changes: tuple[str, ...] = ()) -> Scenario:
    """A rack of the protocol's own scenario, with links of 100 Mbit/s."""
    hosts = ranks if protocol == "switchml" else ranks + 1
    scenario = load_scenario(
        protocol, [f"topology.hosts={hosts}", "job.iterations=1", "topology.link={rate: 100Mbps, delay: 5us}",
                   f"job.workload={path}", *changes], world="simulated",
    )  # fmt: skip
    every = tuple(link.name for link in scenario.topology.links)
    return replace(
        scenario, faults=tuple(replace(fault, links=every) for fault in faults), capture=False,
        time_limit_ns=600_000_000_000,
    )  # fmt: skip


def judged(scenario: Scenario) -> list[Any]:
    failure, history = run_and_judge(scenario)
    assert failure is None
    return list(history)


def took_ns(scenario: Scenario) -> int:
    return last_ns(judged(scenario))


def last_ns(history: Sequence[Record]) -> int:
    return max(record.event.completed_ns for record in history if isinstance(record.event, CollectiveCompleted))


def sums_of(plan: Plan) -> int:
    """Sums in datagrams of one rank."""
    trace = trace_in(plan.workers[0])
    assert trace is not None
    return sum(each.turn >= 0 for each in trace.communications)


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("name", ORACLES)
@pytest.mark.protocols("ring")
def test_collectives_of_others(oracles: Path, protocol: str, name: str) -> None:
    scenario = scenario_of(
        protocol, oracles / "workloads/chakra" / name, int(name[-1]), Loss("rain", rate=0.01),
        changes=("job.divide=64", "job.iterations=2"),
    )  # fmt: skip
    history = judged(scenario)
    summed = name.startswith(("all_reduce", "reduce_scatter"))
    assert any(isinstance(record.event, BlockSummed) for record in history) == summed
    assert sums_of(make_plan(scenario)) == summed


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_messages_and_computing_of_others(oracles: Path, protocol: str) -> None:
    folder = oracles / "workloads/chakra/custom-ring-8"
    scenario = scenario_of(protocol, folder, 8, changes=("job.divide=16",))
    history = judged(scenario)
    metrics = trace_metrics(CheckContext(make_plan(scenario), history))
    assert metrics is not None
    assert metrics["critical_path"]["computing_s"] == pytest.approx(49e-6)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_the_tree_of_others(oracles: Path, protocol: str) -> None:
    judged(scenario_of(protocol, oracles / "workloads/goal/binary_tree_32.goal", 32))


@pytest.mark.parametrize("ranks", [4, 8])
@pytest.mark.parametrize("kind", ["all_reduce", "reduce_scatter"])
def test_a_sum_takes_the_time_of_its_packets(oracles: Path, kind: str, ranks: int) -> None:
    """Each link carries the vector once in each direction, whatever the number of ranks."""
    scenario = scenario_of(
        "switchml", oracles / "workloads/chakra" / f"{kind}-{ranks}", ranks, changes=("job.dtype=int32",)
    )
    packets = (1 << 20) // scenario.transport.path_mtu
    frame = scenario.transport.path_mtu + AGGREGATION_OVERHEAD_BYTES
    assert took_ns(scenario) == pytest.approx(packets * frame * 8 / 100e6 * 1e9, rel=0.05)


@pytest.mark.parametrize("ranks", [4, 8])
def test_a_switch_is_faster_than_a_ring_by_the_ratio_of_the_closed_forms(oracles: Path, ranks: int) -> None:
    """A ring sends 2 (n - 1) / n vectors, each packet with the headers of RoCE."""
    folder, mtu = oracles / "workloads/chakra" / f"all_reduce-{ranks}", 1024
    found = took_ns(scenario_of("switchml", folder, ranks, changes=("job.dtype=int32",)))
    ring = 2 * (ranks - 1) / ranks * (1 << 20) / mtu * 1082 * 8 / 100e6 * 1e9
    assert ring / found == pytest.approx(2 * (ranks - 1) / ranks * 1082 / (mtu + AGGREGATION_OVERHEAD_BYTES), rel=0.05)


@pytest.mark.parametrize("dtype", ["int32", "float32"])
@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.protocols("ring")
def test_each_collective_of_all_and_of_some(tmp_path: Path, protocol: str, dtype: str) -> None:
    """Groups overlap, and are in an order of their own. Sums of some ranks go over connections."""
    groups = (("1", (3, 1)), ("2", (0, 2, 1)), ("3", (2,)), ("4", (3, 2, 1, 0)))
    (tmp_path / "groups.json").write_text('{"1": [3, 1], "2": [0, 2, 1], "3": [2], "4": [3, 2, 1, 0]}')
    ranks: list[list[Any]] = [[] for _ in range(4)]
    for number, kind in enumerate(COLLECTIVES):
        for name, members in (("0", (0, 1, 2, 3)), *groups):
            for rank in members:
                ranks[rank].append(
                    node(len(ranks[rank]), kind, comm_size=1000 * number + 1, pg_name=name, root=members[-1])
                )
    changes = (f"job.trace_groups={tmp_path}/groups.json", "job.iterations=2", f"job.dtype={dtype}")
    scenario = scenario_of(protocol, write_trace(tmp_path / "t", ranks), 4, Loss("rain", rate=0.01), changes=changes)
    history = judged(scenario)
    assert sum(isinstance(record.event, CollectiveCompleted) for record in history) == 8
    assert sums_of(make_plan(scenario)) == 8  # all_reduce, reduce, reduce_scatter and barrier, in both orders of all
    iterations = [record.event.iteration for record in history if isinstance(record.event, CollectiveStarted)]
    assert sorted(iterations) == [0] * 4 + [1] * 4
    assert sum(isinstance(record.event, WorkerFinished) for record in history) == 4


def test_ranks_whose_files_have_another_order_than_their_dependencies(tmp_path: Path) -> None:
    """The first call of the file needs the second one. In the order of the file, ranks would wait for ever."""
    calls = [node(0, "all_reduce", (1,), comm_size=9_000), node(1, "reduce_scatter", comm_size=9_000)]
    history = judged(scenario_of("switchml", write_trace(tmp_path, [calls] * 3), 3))
    ended = [record.event.kind for record in history if isinstance(record.event, TraceNodeEnded)]
    assert ended == ["reduce_scatter"] * 3 + ["all_reduce"] * 3


def test_a_sum_waits_for_the_one_whose_turn_it_is(tmp_path: Path) -> None:
    """One worker of each rank sums. What is computed meanwhile hides the time of the first sum."""
    ranks = [
        [node(0, "all_reduce", comm_size=125_000), node(1, "all_reduce", comm_size=4), node(2, "compute", us=9_000)]
    ] * 2  # fmt: skip
    scenario = scenario_of("switchml", write_trace(tmp_path, ranks), 2)
    history = judged(scenario)
    ends = {
        record.event.number: record.t
        for record in history
        if isinstance(record.event, TraceNodeEnded) and record.node == "h1"
    }
    assert ends[1] > ends[0] > 9_000_000
    metrics = trace_metrics(CheckContext(make_plan(scenario), history))
    assert metrics is not None
    assert 0 < metrics["exposed_s"] == pytest.approx((ends[1] - 9_000_000) / 1e9)
    phases = [
        record.event.phase for record in history if isinstance(record.event, PhaseStarted) and record.node == "h1"
    ]
    assert phases == ["all_reduce_0", "all_reduce_1"]


def test_a_late_rank_is_late_once_in_each_iteration(tmp_path: Path) -> None:
    calls = [node(number, "all_reduce", comm_size=4) for number in range(5)]
    path, late = write_trace(tmp_path, [calls] * 2), "job.straggler={rank: 1, delay: 50ms}"
    changes = (late, "job.iterations=2")
    assert 100_000_000 < took_ns(scenario_of("switchml", path, 2, changes=changes)) < 101_000_000


def test_the_bound_is_not_exceeded(oracles: Path) -> None:
    folder = oracles / "workloads/chakra/all_reduce-4"
    scenario = scenario_of("switchml", folder, 4, changes=("job.divide=4", "job.dtype=int32"))
    history = simulate(make_plan(scenario))
    context = CheckContext(make_plan(scenario), history)
    assert 0.9 < 8 * (1 << 18) / (last_ns(history) / 1e9) / bound_bps(context) <= 1


@pytest.mark.protocols("ring")
def test_a_fabric_of_gradient_routes(oracles: Path, tmp_path: Path) -> None:
    """A protocol that runs no other operation: its reduce-scatters go over connections."""
    changes = [f"job.workload={oracles}/workloads/chakra/all_reduce-8", "job.divide=64", "job.iterations=1"]
    assert sums_of(make_plan(load_scenario("grid", changes, world="simulated"))) == 1
    judged(load_scenario("grid", changes, world="simulated"))
    changes[0] = changes[0].replace("all_reduce", "reduce_scatter")
    assert sums_of(make_plan(load_scenario("grid", changes, world="simulated"))) == 0


@settings(max_examples=15, deadline=None)
@given(data=st.data(), size=st.integers(2, 5), seed=st.integers(0, 99))
@pytest.mark.protocols("ring")
def test_any_trace(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, size: int, seed: int) -> None:
    """Nodes wait for some of those before them, or behind them in their files: any such trace ends."""
    ranks: list[list[Any]] = [[] for _ in range(size)]

    def add(rank: int, kind: str, **attributes: Any) -> None:
        number = len(ranks[rank])
        after = data.draw(st.sets(st.integers(0, number - 1), max_size=2)) if number else ()
        ranks[rank].append(node(number, kind, sorted(after), **attributes))

    for _ in range(data.draw(st.integers(1, 6))):
        kind = data.draw(st.sampled_from(("compute", "message", *COLLECTIVES)))
        length = data.draw(st.integers(0, 6000))
        if kind == "compute":
            add(data.draw(st.integers(0, size - 1)), "compute", us=length)
        elif kind == "message":
            sender, receiver = data.draw(st.permutations(range(size)))[:2]
            add(sender, "send", comm_size=length, comm_dst=receiver, comm_tag=1)
            add(receiver, "recv", comm_size=6000, comm_src=sender, comm_tag=1)
        else:
            for rank in range(size):
                add(rank, kind, comm_size=length, root=size - 1)
    for rank in range(size):
        add(rank, "barrier")
    step = data.draw(st.sampled_from((1, -1)))
    path = write_trace(tmp_path_factory.mktemp("trace"), [nodes[::step] for nodes in ranks])
    protocol = data.draw(st.sampled_from(present(PROTOCOLS)))
    scenario = scenario_of(
        protocol, path, size, Loss("rain", rate=0.02), Duplicate("twice", rate=0.01),
        changes=("job.iterations=2",),
    )  # fmt: skip
    failure, _ = run_and_judge(replace(scenario, seed=seed))
    assert failure is None


def test_what_is_no_trace_is_refused() -> None:
    """A worker of connections that runs no trace."""
    from workloads.gradients import source_of

    worker: Any = make_plan(load_scenario("ring", world="simulated")).workers[0]
    with pytest.raises(InternalError, match="a trace that no protocol of traces runs"):
        with_trace(worker, source_of(worker), lambda source: pytest.fail("made"), 0)
