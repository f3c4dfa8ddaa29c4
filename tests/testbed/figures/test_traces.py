"""Exposed communication and critical paths of traces."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from testbed.checkers.context import CheckContext
from testbed.figures.metrics import metrics
from testbed.figures.traces import critical_path, trace_metrics
from testbed.plan import make_plan
from testbed.scenario import load_scenario
from testbed.worlds.simulated import simulate

Contexts = Callable[..., CheckContext]


@pytest.fixture
def run(tmp_path: Path) -> Contexts:
    def context(*ranks: str) -> CheckContext:
        path = tmp_path / "t.goal"
        blocks = "\n".join(f"rank {rank} {{ {body} }}" for rank, body in enumerate(ranks))
        path.write_text(f"num_ranks {len(ranks)}\n{blocks}\n")
        changes = [f"job.workload={path}", f"topology.hosts={len(ranks)}", "job.iterations=1"]
        plan = make_plan(load_scenario("rack", changes, world="simulated"))
        return CheckContext(plan, simulate(plan))

    return context


def each_of(context: CheckContext) -> dict[str, Any]:
    found = trace_metrics(context)
    assert found is not None
    return {each["name"]: each for each in found["each"]}


def test_computing_hides_communication(run: Contexts) -> None:
    """h1 computes for 0.1 s next to its message, h2 for 1 ms."""
    each = each_of(run("calc 100000000 send 400000b to 1", "calc 1000000 recv 400000b from 0"))
    assert each["h1"]["computing_s"] == pytest.approx(0.1)
    assert 0 < each["h1"]["communication_s"] < 0.1
    assert each["h1"]["exposed_s"] == 0
    assert each["h2"]["exposed_s"] == pytest.approx(each["h2"]["communication_s"] - 0.001)


def test_computing_side_by_side_counts_once(run: Contexts) -> None:
    each = each_of(run("calc 1000 calc 1000 cpu 1 send 4b to 1", "recv 4b from 0"))
    assert each["h1"]["computing_s"] == pytest.approx(1e-6)


def test_the_critical_path_leads_from_rank_to_rank(run: Contexts) -> None:
    """The receive of h2 waits for the send of h1, and that for the longer of two computings."""
    context = run(
        "a: calc 5000 b: calc 9000000 cpu 1 s: send 4000b to 1 s requires a s requires b",
        "c: calc 7000 r: recv 4000b from 0 r requires c d: calc 3000000 d requires r",
    )
    path = critical_path(context)
    assert [(node.host, node.event.name) for node in path] == [("h1", "b"), ("h2", "r"), ("h2", "d")]
    assert path[0].start == 0
    assert path[0].stop == path[1].start == 9_000_000
    assert path[1].stop == path[2].start
    assert [node.computes for node in path] == [True, False, True]


def test_a_message_that_was_there_is_not_on_the_path(run: Contexts) -> None:
    path = critical_path(
        run("send 4000b to 1", "c: calc 90000000 r: recv 4000b from 0 r requires c d: calc 300 d requires r")
    )
    assert [node.event.name for node in path] == ["c", "d"]


def test_computing_of_a_cpu_waits_for_that_before_it(run: Contexts) -> None:
    path = critical_path(run("a: calc 90000000 b: calc 300 send 4b to 1", "recv 4b from 0"))
    assert [node.event.name for node in path] == ["a", "b"]


def test_jobs_that_are_no_traces_have_no_such_figures() -> None:
    plan = make_plan(load_scenario("rack", ["job.iterations=1", "job.size=40kB"], world="simulated"))
    assert trace_metrics(context := CheckContext(plan, simulate(plan))) is None
    assert "trace" not in metrics(context)
