"""What runs the operations of a trace, in a tree that lacks a protocol."""

from __future__ import annotations

import pytest

from testbed.protocols.trace_file import keys_runs
from testbed.scenario.protocols.known import protocols
from workloads.errors import ScenarioError

pytestmark = pytest.mark.protocols("ring", "binomial_tree")


@pytest.fixture
def without_ring(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keys_runs, "protocols", lambda: (each for each in protocols() if each.name != "ring"))


def test_a_ring_sums_between_hosts() -> None:
    assert keys_runs.fewest_bytes() == "ring"


@pytest.mark.usefixtures("without_ring")
def test_without_a_ring_another_protocol_sums_between_hosts() -> None:
    assert keys_runs.fewest_bytes() == "binomial_tree"


@pytest.mark.usefixtures("without_ring")
def test_an_operation_that_no_protocol_runs_is_refused() -> None:
    with pytest.raises(ScenarioError) as caught:
        keys_runs.runner("reduce_scatter", "netreduce")
    assert str(caught.value).startswith(
        "scenario: job.workload: no installed protocol runs an operation of the trace; found reduce_scatter; "
        "allowed: all_reduce, "
    )
