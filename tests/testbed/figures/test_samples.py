"""Training samples per second, worked out by hand."""

from __future__ import annotations

import pytest

from testbed.checkers.context import CheckContext
from testbed.figures.metrics import metrics
from testbed.figures.samples import samples_of, samples_per_second
from testbed.history import sort_history
from testbed.plan import make_plan
from testbed.scenario import load_scenario, parse_scenario
from testbed.scenario.model import Job
from testbed.worlds.simulated import simulate
from workloads.errors import ScenarioError


def test_samples_are_batches_of_all_workers_and_iterations() -> None:
    assert samples_of(Job(batch=32, iterations=5), 4) == 640
    assert samples_of(Job(iterations=5), 4) is None
    assert samples_of(Job(workload="digits", iterations=2), 4) == 32 * 4 * 2
    assert samples_of(Job(workload="digits"), 100) == 15 * 100, "1500 images are left for training"


def test_one_job_that_does_not_say_leaves_the_rate_unknown() -> None:
    assert samples_per_second([100, 50], 0.5) == 300
    assert samples_per_second([100, None], 0.5) is None
    assert samples_per_second([100], None) is None
    assert samples_per_second([None], 0.5) is None


def test_jobs_have_rates_of_their_own() -> None:
    plan = make_plan(load_scenario("jobs-mix", ["job.batch=16", "job.iterations=1"]))
    found = metrics(CheckContext(plan, sort_history(simulate(plan))))
    jobs = found["jobs"]["each"]
    assert [job["samples_per_second"] for job in jobs] == pytest.approx(
        [16 * job["workers"] / job["jct_s"] for job in jobs]
    )
    assert found["samples_per_second"] == pytest.approx(16 * sum(job["workers"] for job in jobs) / found["jct_s"])


@pytest.mark.parametrize(
    ("job", "problem"),
    [
        ("{workload: digits, batch: 8}", "job.batch: cannot be combined with workload: digits"),
        ("{batch: 0}", "job.batch: out of range"),
        ("{batch: many}", "job.batch: "),
        ("{batch: 1.5}", "job.batch: "),
    ],
)
def test_batches_that_are_refused(job: str, problem: str) -> None:
    with pytest.raises(ScenarioError, match=problem):
        parse_scenario(f"name: a\ntopology: {{kind: rack, hosts: 2}}\njob: {job}\n", "a.yaml")
