from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import pytest
import yaml

import testbed.sweeps
from testbed.scenario.builtin import find_scenario
from testbed.scenario.loader import parse_scenario
from testbed.scenario.protocols.named import protocol_names
from testbed.sweeps.protocols import _known, under_protocol
from workloads.errors import ScenarioError


def data_of(name: str) -> dict[str, Any]:
    data: dict[str, Any] = yaml.safe_load(find_scenario(name)[0].read_text(encoding="utf-8"))
    return data


@pytest.mark.parametrize("old", ["rack-lossy", "ring", "switchml-lossy", "atp-lossy", "esa-lossy"])
@pytest.mark.parametrize("new", _known())
def test_every_protocol_takes_the_place_of_every_other(old: str, new: str) -> None:
    before = data_of(old)
    kept = yaml.safe_dump(before)
    scenario = parse_scenario(yaml.safe_dump(under_protocol(before, new)), "changed.yaml")
    assert yaml.safe_dump(before) == kept, "the scenario itself is left alone"
    first = parse_scenario(kept, "first.yaml")
    assert scenario.job.protocol == new
    assert (scenario.job.size_bytes, scenario.job.iterations, scenario.link) == (
        first.job.size_bytes,
        first.job.iterations,
        first.link,
    )
    assert [fault.name for fault in scenario.faults] == [fault.name for fault in first.faults]
    workers = [len(each.topology.hosts) - bool(each.job.server) for each in (first, scenario)]
    assert workers[0] == workers[1], "as many workers: a parameter server has a host of its own"


def test_its_own_protocol_changes_nothing() -> None:
    data = data_of("rack-lossy")
    assert under_protocol(data, "netreduce") is data


def test_several_jobs_are_not_changed() -> None:
    with pytest.raises(ScenarioError, match="jobs: has several jobs, whose protocols a sweep does not change"):
        under_protocol(data_of("jobs-8"), "esa")


def test_knobs_that_the_new_program_does_not_heed_go_away() -> None:
    data = data_of("esa-lossy")
    data["switch"]["knobs"] = {"preempt": False, "reclaim": False}
    assert under_protocol(data, "atp")["switch"]["knobs"] == {"reclaim": False}
    assert "knobs" not in under_protocol(data, "switchml")["switch"]


def test_no_sweep_of_scenarios_names_a_protocol() -> None:
    """They ask `Protocol`; models of closed forms have names of their own (`parameters`)."""
    folder = Path(testbed.sweeps.__file__).parent
    for module in sorted(folder.glob("*.py")):
        if module.name in ("parameters.py", "compute.py", "evaluate.py"):
            continue
        words = {
            node.value for node in ast.walk(ast.parse(module.read_text("utf-8"))) if isinstance(node, ast.Constant)
        }
        assert not words & set(protocol_names()), module.name
