"""GRID's routes in the emulated world: sums, loss and replanning on real packets, at rates that a busy machine
keeps."""

from __future__ import annotations

import pytest

from switch_nodes.events import PlanInstalled
from testbed.figures.metrics import metrics
from tests.support.emulated import needs_root
from tests.support.simulation import digests, expected_digests
from tests.support.worlds import assert_same_sums, run_in
from workloads.datagrams.blocks import JobResumed

pytestmark = needs_root

SLOW = ["topology.link.rate=3Mbps", "topology.server_link.rate=9Mbps", "routing.capacity=9Mbps"]


@pytest.mark.parametrize(
    ("name", "overrides"),
    [
        pytest.param("grid", ["job.size=100kB"], marks=pytest.mark.minutes),
        ("grid-lossy", ["job.size=100kB", "job.iterations=1", "job.dtype=int32"]),
    ],
)
def test_both_worlds_make_the_same_sums(name, overrides, tmp_path, monkeypatch):
    run = assert_same_sums(name, [*SLOW, *overrides], 3, tmp_path, monkeypatch)
    assert digests(run.history) == expected_digests(run.context.plan)
    assert len(digests(run.history)) == 8


def test_a_link_that_dies_is_planned_around_and_no_gradient_is_lost(tmp_path, monkeypatch):
    overrides = [*SLOW, "job.size=500kB", "faults.l1.from=500ms"]
    run = run_in("emulated", "grid-link-down", overrides, 3, tmp_path, monkeypatch)
    history, context = run.history, run.context
    assert (run.document["verdict"], run.not_passed()) == ("pass", {})
    assert digests(history) == expected_digests(context.plan)
    installed = {(record.node, record.event.planner) for record in history if isinstance(record.event, PlanInstalled)}
    assert installed == {("s1", "grid"), ("s2", "grid"), ("s3", "grid")}
    assert [record.node for record in history if isinstance(record.event, JobResumed)] == ["ps"]
    (change,) = metrics(context)["routing"]["replans"]
    assert (change["at_s"], change["installed_s"]) == (0.5, 0.55)
    assert change["planned_bps"] == pytest.approx(1.5e6)
    assert change["first_sum_s"] >= 0.05, "no sum of the new plan before it is installed"
    assert change["recovered_s"] is None or change["recovered_s"] >= change["first_sum_s"]
