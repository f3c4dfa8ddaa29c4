"""What go-back-N would have cost: measured, and said in one sentence."""

from __future__ import annotations

from dataclasses import replace

import pytest

from testbed.checkers import CheckContext
from testbed.figures.metrics import metrics
from testbed.history import sort_history
from testbed.plan import make_plan
from testbed.runs.recoveries import Cost, cost_of, virtual_jct_s
from testbed.scenario import load_scenario
from testbed.worlds.simulated.world import simulate


def jct_s(recovery: str) -> float:
    plan = make_plan(load_scenario("irn-lossy", ["job.size=500kB", f"transport.recovery={recovery}"]))
    found: float = metrics(CheckContext(plan, sort_history(simulate(plan))))["jct_s"]
    return found


def test_both_are_measured_with_the_same_seed_and_faults() -> None:
    scenario = load_scenario("irn-lossy", ["job.size=500kB"])
    cost = cost_of(scenario, virtual_jct_s(scenario))
    assert cost == Cost(jct_s("irn"), jct_s("gbn"))
    assert cost.own_s is not None
    assert cost.other_s is not None
    assert cost.other_s > 1.5 * cost.own_s


def test_a_job_that_does_not_complete_says_so() -> None:
    scenario = replace(load_scenario("irn-lossy", ["job.size=200kB"]), time_limit_ns=1_000_000)
    cost = cost_of(scenario, virtual_jct_s(scenario))
    assert cost == Cost(None, None)


@pytest.mark.parametrize(
    ("cost", "told"),
    [
        (
            Cost(0.5, 3.0),
            "would have taken 3.00 s instead of 500 ms: 6.0 times as long (both measured in virtual time).",
        ),
        (Cost(0.5, None), "would not have completed; with IRN it takes 500 ms of virtual time."),
        (Cost(None, 1.0), "did not complete, so that nothing can be said of go-back-N."),
    ],
)
def test_it_is_one_sentence(cost: Cost, told: str) -> None:
    assert cost.told().endswith(told)


def test_the_demo_uses_irn() -> None:
    assert load_scenario("demo").transport.recovery == "irn"
