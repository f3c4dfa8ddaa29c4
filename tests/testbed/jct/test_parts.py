"""When the parts are not known, and what a capture must show."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from testbed.captures.capture import PcapngTap
from testbed.checkers.context import CheckContext
from testbed.figures.jct import parts_metrics
from testbed.history.events import CaptureLost
from testbed.history.records import make_record
from testbed.jct import PARTS, jct_parts
from testbed.runs.run import judge_scenario
from testbed.scenario import load_scenario
from tests.support.parts import simulated


@pytest.fixture(scope="module")
def run() -> CheckContext:
    return simulated(load_scenario("rack", ["job.size=30kB"], world="simulated"))


def _without_captures(run: CheckContext) -> CheckContext:
    return replace(run, captures=())


def _with_holes(run: CheckContext) -> CheckContext:
    return replace(run, history=[*run.history, make_record(1, "s1", CaptureLost(3))])


def _that_captured_nothing(run: CheckContext) -> CheckContext:
    scenario = replace(run.plan.scenario, capture=False)
    return replace(run, plan=replace(run.plan, scenario=scenario))


def _with_devices(run: CheckContext) -> CheckContext:
    scenario = replace(run.plan.scenario, nics=(("h1", "rxe0"),))
    return replace(run, plan=replace(run.plan, scenario=scenario))


def _unfinished(run: CheckContext) -> CheckContext:
    return replace(run, history=[record for record in run.history if type(record.event).__name__ != "WorkerFinished"])


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (_without_captures, "there is no capture of s1"),
        (_with_holes, "a capture has holes"),
        (_that_captured_nothing, "the scenario has `capture: false`"),
        (_with_devices, "hosts use RDMA devices, which report no frames"),
        (_unfinished, "not all workers finished"),
    ],
)
def test_why_the_parts_are_not_known(
    run: CheckContext, change: Callable[[CheckContext], CheckContext], reason: str
) -> None:
    assert jct_parts(change(run)).unknown == reason
    nothing = {"parts": None, "path_ns": None, "workers_ns": None, "unknown": reason}
    assert parts_metrics(change(run)) == nothing


def test_a_damaged_capture_is_a_reason(run: CheckContext, tmp_path: Path) -> None:
    path = tmp_path / "s1.pcapng"
    path.write_bytes(b"no capture")
    assert "s1.pcapng cannot be read" in jct_parts(replace(run, captures=(path,))).unknown


def test_a_capture_without_frames_leaves_everything_to_other(run: CheckContext, tmp_path: Path) -> None:
    """What nothing explains is shown, and the sums are those of the job."""
    path = tmp_path / "s1.pcapng"
    PcapngTap(path, [link.name for link in run.plan.scenario.topology.links]).close()
    parts = jct_parts(replace(run, captures=(path,)))
    assert parts.path["other"] > 0
    assert sum(parts.path.values()) == sum(parts.workers["h1"].values())


def test_a_run_has_the_figures() -> None:
    metrics = judge_scenario(load_scenario("data-last-lost", world="simulated"), "")["metrics"]
    jct = metrics["jct"]
    assert sum(jct["path_ns"].values()) == round(metrics["jct_s"] * 1e9)
    assert list(jct["parts"]) == [str(part) for part in PARTS]
    assert sum(jct["parts"].values()) == pytest.approx(1)
    assert jct["workers_ns"].keys() == {"h1", "h2", "h3", "h4"}
    assert jct["unknown"] is None
