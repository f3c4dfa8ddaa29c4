"""DLCP in both worlds: a pass in each, and with a bound of 0 the same sums."""

from __future__ import annotations

import pytest

from testbed.history.events import QueueDropped
from tests.support.emulated import needs_root
from tests.support.selection import some_at_once
from tests.support.simulation import digests
from tests.support.worlds import assert_same_sums, run_in

pytestmark = needs_root


def test_both_worlds_make_the_same_whole_sums(tmp_path, monkeypatch):
    overrides = ["job.loss_bound=0", "job.size=60kB", "faults.loss.rate=2%"]
    run = assert_same_sums("dlcp-lossy", overrides, 2, tmp_path, monkeypatch)
    assert len(digests(run.history)) == 12


@pytest.mark.parametrize(
    "name",
    some_at_once(
        ["dlcp-data-lost", "dlcp-result-lost", "dlcp-duplicate", "dlcp-ina-lossy", "dlcp-ring-lossy"],
        quick=["dlcp-result-lost", "dlcp-ina-lossy"],
    ),
)
def test_between_namespaces_too(name, tmp_path, monkeypatch):
    run = run_in("emulated", name, [], 1, tmp_path, monkeypatch)
    assert run.not_passed() == {}


@pytest.mark.parametrize("world", ["simulated", "emulated"])
def test_queues_that_know_classes_drop_small_elements_early(world, tmp_path, monkeypatch):
    run = run_in(world, "dlcp-classes", [], 1, tmp_path, monkeypatch)
    assert run.not_passed() == {}
    early = [record.event for record in run.history if isinstance(record.event, QueueDropped) and record.event.early]
    assert len(early) > 100
    assert {event.dscp % 2 for event in early} == {1}
