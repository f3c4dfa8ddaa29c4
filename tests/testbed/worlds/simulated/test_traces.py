"""Whole traces in virtual time, judged by the stock checkers and held against closed forms."""

from __future__ import annotations

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
from testbed.hunt.judge import run_and_judge
from testbed.plan import make_plan
from testbed.protocols.trace_file.keys import TraceKeys
from testbed.scenario.model import Job, Scenario, SwitchOptions, Transport
from testbed.worlds.simulated import simulate
from tests.support.traces import COLLECTIVES, node, write_trace
from topologies import LinkShape, Topology, rack, spine_leaf
from workloads.config import IRN_END_TO_END
from workloads.events import CollectiveCompleted
from workloads.traces.events import TraceNodeEnded

SHAPE = LinkShape(rate_bps=100_000_000, delay_ns=5_000)
MTU, FRAME = 1024, 1082
MS = 1_000_000


def scenario_of(
    path: str | Path,
    network: int | Topology,
    *faults: Any,
    all_reduce: str = "netreduce",
    seed: int = 1,
    **options: Any,
) -> Scenario:
    topology = rack(network, SHAPE) if isinstance(network, int) else network
    own = {name: options.pop(name) for name in tuple(options) if name.startswith("trace_") or name == "divide"}
    keys = TraceKeys(str(path), all_reduce=all_reduce, **own)
    every = tuple(link.name for link in topology.links)
    return Scenario(
        "t", topology, SHAPE, seed=seed, world="simulated", transport=Transport(timeout_code=options.pop("code", 12)),
        switch=SwitchOptions("netreduce" if all_reduce == "netreduce" else "forward"),
        job=Job(
            protocol="trace_file", size_bytes=keys.gradient_bytes(len(topology.hosts)), own=keys,
            **{"message_packets": 8, **options},
        ),
        faults=tuple(replace(fault, links=every) for fault in faults), time_limit_ns=60_000_000_000,
    )  # fmt: skip


def ended(scenario: Scenario) -> dict[tuple[str, int], tuple[int, int]]:
    """(start, end) by host and id of the node; of a single iteration."""
    failure, history = run_and_judge(scenario)
    assert failure is None
    return {
        (record.node, record.event.number): (record.t - record.event.took_ns, record.t)
        for record in history
        if isinstance(record.event, TraceNodeEnded)
    }


def took_ns(scenario: Scenario) -> int:
    failure, history = run_and_judge(scenario)
    assert failure is None
    return max(record.event.completed_ns for record in history if isinstance(record.event, CollectiveCompleted))


@pytest.fixture
def goal(tmp_path: Path) -> Any:
    def write(*ranks: str) -> Path:
        path = tmp_path / "t.goal"
        blocks = "\n".join(f"rank {rank} {{ {body} }}" for rank, body in enumerate(ranks))
        path.write_text(f"num_ranks {len(ranks)}\n{blocks}\n")
        return path

    return write


def test_steps_begin_when_those_before_are_over(goal: Any) -> None:
    times = ended(
        scenario_of(goal("a: calc 1000 b: send 4b to 1 b requires a", "r: recv 4b from 0 c: calc 70 c requires r"), 2)
    )
    assert times["h1", 1] == (0, 1000)
    assert times["h1", 2][0] == 1000
    assert times["h2", 1][0] == 0
    assert times["h2", 2] == (times["h2", 1][1], times["h2", 1][1] + 70)


def test_computing_of_one_cpu_follows_one_another(goal: Any) -> None:
    times = ended(scenario_of(goal("calc 50 calc 70 calc 30 cpu 1 send 4b to 1", "recv 4b from 0"), 2))
    assert (times["h1", 1], times["h1", 2], times["h1", 3]) == ((0, 50), (50, 120), (0, 30))


def test_irequires_waits_for_the_start_alone(goal: Any) -> None:
    times = ended(scenario_of(goal("a: calc 50 b: calc 70 cpu 1 b irequires a send 4b to 1", "recv 4b from 0"), 2))
    assert times["h1", 2] == (0, 70)


def test_a_receive_takes_a_message_that_came_before(goal: Any) -> None:
    times = ended(scenario_of(goal("send 4b to 1", "a: calc 9000000 r: recv 4b from -1 tag -1 r requires a"), 2))
    assert times["h2", 2] == (9 * MS, 9 * MS)


def test_both_send_before_they_receive(goal: Any) -> None:
    """As large as no window is, so that each send needs a receiver that takes it in."""
    body = "s: send 2000000b to {0} r: recv 2000000b from {0} r requires s"
    assert took_ns(scenario_of(goal(body.format(1), body.format(0)), 2)) < 400 * MS


def test_ranks_without_communication(goal: Any) -> None:
    times = ended(scenario_of(goal("send 4b to 1", "recv 4b from 0", "calc 500", ""), 4))
    assert times["h3", 1] == (0, 500)


ALL_REDUCES = ("netreduce", "ring", "recursive_doubling", "binomial_tree")


@pytest.mark.parametrize("all_reduce", ALL_REDUCES)
@pytest.mark.protocols("ring")
def test_each_collective_of_all_and_of_some(tmp_path: Path, all_reduce: str) -> None:
    """Groups overlap, and are in an order of their own."""
    groups = (("1", (3, 1)), ("2", (0, 2, 1)), ("3", (2,)))
    (tmp_path / "groups.json").write_text('{"1": [3, 1], "2": [0, 2, 1], "3": [2]}')
    ranks: list[list[Any]] = [[] for _ in range(4)]
    for number, kind in enumerate(COLLECTIVES):
        for name, members in (("0", (0, 1, 2, 3)), *groups):
            for rank in members:
                ranks[rank].append(
                    node(len(ranks[rank]), kind, comm_size=1000 * number + 1, pg_name=name, root=members[-1])
                )
    scenario = scenario_of(
        write_trace(tmp_path / "t", ranks), 4, Loss("rain", rate=0.01), all_reduce=all_reduce, iterations=2,
        trace_groups=str(tmp_path / "groups.json"), window_messages=1,
    )  # fmt: skip
    failure, history = run_and_judge(scenario)
    assert failure is None
    assert sum(isinstance(record.event, CollectiveCompleted) for record in history) == 8


@pytest.mark.parametrize("recovery", IRN_END_TO_END)
def test_selective_retransmission(tmp_path: Path, recovery: str) -> None:
    calls = [node(number, kind, comm_size=90_000, root=1) for number, kind in enumerate(COLLECTIVES)]
    scenario = scenario_of(write_trace(tmp_path, [calls] * 3), 3, Loss("rain", rate=0.01), all_reduce="ring")
    failure, _ = run_and_judge(replace(scenario, transport=Transport(timeout_code=12, recovery=recovery)))
    assert failure is None


@pytest.mark.parametrize("all_reduce", ALL_REDUCES)
@pytest.mark.protocols("ring")
def test_two_tiers(tmp_path: Path, all_reduce: str) -> None:
    calls = [node(number, kind, comm_size=9000, root=1) for number, kind in enumerate(COLLECTIVES)]
    scenario = scenario_of(
        write_trace(tmp_path, [calls] * 4), spine_leaf([2, 2], 1, SHAPE), Loss("rain", rate=0.01),
        all_reduce=all_reduce, window_messages=1,
    )  # fmt: skip
    failure, _ = run_and_judge(scenario)
    assert failure is None


@settings(max_examples=25, deadline=None)
@given(data=st.data(), size=st.integers(2, 5), seed=st.integers(0, 99))
def test_any_trace(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, size: int, seed: int) -> None:
    """Operations in one order on all ranks, whose nodes wait for some of those before them: any such trace ends."""
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
    path = write_trace(tmp_path_factory.mktemp("trace"), ranks)
    all_reduce = data.draw(st.sampled_from(ALL_REDUCES))
    scenario = scenario_of(
        path,
        size,
        Loss("rain", rate=0.02),
        Duplicate("twice", rate=0.01),
        all_reduce=all_reduce,
        seed=seed,
        iterations=2,
    )
    failure, _ = run_and_judge(scenario)
    assert failure is None


def ring_ns(elements: int, ranks: int, steps: int) -> float:
    """Each step is a chunk on the wire."""
    return steps / ranks * elements * 4 / MTU * FRAME * 8 / SHAPE.rate_bps * 1e9


@pytest.mark.parametrize("ranks", [4, 8])
@pytest.mark.parametrize(
    ("kind", "steps"), [("all_reduce", 2), ("reduce_scatter", 1), ("all_gather", 1), ("all_to_all", 1)]
)
def test_collectives_of_others_take_the_time_of_their_closed_forms(
    oracles: Path, kind: str, steps: int, ranks: int
) -> None:
    folder, divide = oracles / "workloads/chakra" / f"{kind}-{ranks}", 4
    whole = (1 << 18) // divide * (ranks if kind == "all_gather" else 1)
    found = took_ns(scenario_of(folder, ranks, all_reduce="ring", divide=divide, message_packets=170))
    assert found == pytest.approx(ring_ns(whole, ranks, steps * (ranks - 1)), rel=0.05)


@pytest.mark.parametrize("ranks", [4, 8])
def test_sums_in_the_switch_are_faster_by_the_ratio_of_the_closed_forms(oracles: Path, ranks: int) -> None:
    folder = oracles / "workloads/chakra" / f"all_reduce-{ranks}"
    ring, summed = (
        took_ns(scenario_of(folder, ranks, all_reduce=name, message_packets=170)) for name in ("ring", "netreduce")
    )
    assert ring / summed == pytest.approx(2 * (ranks - 1) / ranks, rel=0.05)


def test_the_ring_of_others_takes_the_ring_s_time_and_its_computing(oracles: Path) -> None:
    """14 steps, each a chunk on the wire and a way through the switch; 7 of them compute 7 us."""
    folder = oracles / "workloads/chakra/custom-ring-8"
    scenario = scenario_of(folder, 8)
    failure, history = run_and_judge(scenario)
    assert failure is None
    metrics = trace_metrics(CheckContext(make_plan(scenario), history))
    assert metrics is not None
    path = metrics["critical_path"]
    assert path["computing_s"] == pytest.approx(49e-6)
    assert [each["took_s"] for each in path["nodes"] if each["kind"] == "compute"] == [7e-6] * 7
    found = max(record.event.completed_ns for record in history if isinstance(record.event, CollectiveCompleted))
    assert found == pytest.approx(ring_ns(1 << 18, 8, 14) + 49_000, rel=0.05)
    assert found / 1e9 == pytest.approx(path["computing_s"] + path["communication_s"], abs=1e-9)


def test_the_tree_of_others(oracles: Path) -> None:
    times = ended(scenario_of(oracles / "workloads/goal/binary_tree_32.goal", 32))
    assert len(times) == 62


def test_the_bound_is_not_exceeded(oracles: Path) -> None:
    scenario = scenario_of(oracles / "workloads/chakra/all_reduce-4", 4, divide=4)
    history = simulate(make_plan(scenario))
    context = CheckContext(make_plan(scenario), history)
    found = max(record.event.completed_ns for record in history if isinstance(record.event, CollectiveCompleted))
    assert 0.9 < 8 * (1 << 18) / (found / 1e9) / bound_bps(context) <= 1
