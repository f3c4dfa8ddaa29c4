"""`tb validate --json`: what a scenario means, or what is wrong with it, for editors and CI."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import yaml

from testbed.estimate import available_bytes, memory_need, time_need
from testbed.plan import make_plan
from testbed.reading.problems import InvalidScenario
from testbed.scenario import dump_scenario, load_scenario
from workloads.errors import ScenarioError

__all__ = ["validate_as_json"]


def validate_as_json(name_or_path: str, overrides: Sequence[str]) -> int:
    """Prints one document. -> exit code: 0, or 64 when the scenario is invalid."""
    try:
        document = _valid(name_or_path, overrides)
    except ScenarioError as error:
        problems = error.problems if isinstance(error, InvalidScenario) else (error,)
        document = {"schema": 1, "valid": False, "problems": [_problem(each) for each in problems]}
    print(json.dumps(document, indent=1, ensure_ascii=False))
    return 0 if document["valid"] else ScenarioError.exit_code


def _valid(name_or_path: str, overrides: Sequence[str]) -> dict[str, Any]:
    from testbed.cli.catalogue import warnings

    scenario = load_scenario(name_or_path, overrides)
    plan = make_plan(scenario)
    time, memory = time_need(plan), memory_need(plan)
    return {
        "schema": 1,
        "valid": True,
        "scenario": scenario.name,
        "source": scenario.source,
        "world": scenario.world,
        "seed": scenario.seed,
        "expect": scenario.expect,
        "time": {"least_s": time.least_s, "about_s": time.about_s, "bottleneck": time.bottleneck},
        "memory": {"about_bytes": memory.most, "available_bytes": available_bytes()},
        "warnings": list(warnings(scenario, time, memory)),
        "resolved": yaml.safe_load(dump_scenario(scenario)),
    }


def _problem(error: ScenarioError) -> dict[str, Any]:
    return {
        "file": error.file, "line": error.line, "key": error.key, "problem": error.problem, "found": error.found,
        "allowed": error.allowed, "hint": error.hint,
    }  # fmt: skip
