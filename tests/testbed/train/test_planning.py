"""Which scenarios a training can use, and how long its pieces are."""

from __future__ import annotations

import pytest

from testbed.scenario.protocols.known import protocols
from testbed.train.planning import TrainingSource, has_one_size, judged_plan, training_plan
from workloads.errors import ScenarioError


def test_every_collective_that_sums_trains() -> None:
    able = {protocol.name for protocol in protocols() if protocol.result().is_sum}
    with pytest.raises(ScenarioError) as error:
        TrainingSource("shift").load()
    assert str(error.value).partition("allowed: ")[2] == ", ".join(sorted(able))


@pytest.mark.parametrize(
    ("scenario", "one_size"),
    [("rack", False), ("ring", False), ("hierarchical", True)],
)
def test_whose_gradients_have_one_size(scenario: str, one_size: bool) -> None:
    assert has_one_size(training_plan(TrainingSource(scenario).sized(8192))) == one_size


def test_a_training_is_judged_as_so_many_pieces_of_that_size() -> None:
    plan = judged_plan(TrainingSource("hierarchical"), 8192, 7)
    assert {worker.workload.kind for worker in plan.workers} == {"external"}
    assert {(worker.workload.elements, worker.workload.iterations) for worker in plan.workers} == {(2048, 7)}
