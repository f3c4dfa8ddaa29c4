"""What a scenario takes too much of, and `tb validate --json`: what it means, or what is wrong with it, for editors and
CI."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

import yaml

from testbed.estimate import MemoryNeed, memory_need
from testbed.estimate.headroom import headroom_warnings
from testbed.kernel.free_memory import available_bytes
from testbed.plan import Plan, make_plan
from testbed.plan.time_need import TimeNeed, time_need
from testbed.reading.problems import InvalidScenario
from testbed.reading.units import format_duration
from testbed.scenario import Scenario, dump_scenario, load_scenario
from testbed.terminal.numbers import byte_size, seconds
from testbed.terminal.standard import print_document
from workloads.errors import ScenarioError

__all__ = ["resolved_text", "validate_as_json", "warnings"]


def validate_as_json(name_or_path: str, overrides: Sequence[str]) -> int:
    """Prints one document. -> exit code: 0, or 64 when the scenario is invalid."""
    try:
        document = _valid(name_or_path, overrides)
    except ScenarioError as error:
        problems = error.problems if isinstance(error, InvalidScenario) else (error,)
        document = {"schema": 2, "valid": False, "problems": [_problem(each) for each in problems]}
    print_document(json.dumps(document, indent=1, ensure_ascii=False))
    return 0 if document["valid"] else ScenarioError.exit_code


def _valid(name_or_path: str, overrides: Sequence[str]) -> dict[str, Any]:
    scenario = load_scenario(name_or_path, overrides)
    plan = make_plan(scenario)
    time, memory = time_need(plan), memory_need(plan)
    return {
        "schema": 2,
        "valid": True,
        "scenario": scenario.name,
        "source": scenario.source,
        "world": scenario.world,
        "seed": scenario.seed,
        "expect": scenario.expect,
        "time": {"least_s": time.least_s, "about_s": time.about_s, "bottleneck": time.bottleneck},
        "memory": {"about_bytes": memory.most, "available_bytes": available_bytes()},
        "warnings": list(warnings(plan, time, memory)),
        "resolved": yaml.safe_load(dump_scenario(scenario)),
        "timers": [{"protocol": part.scenario.job.protocol, **part.timers.document} for part in plan.parts],
    }


def _problem(error: ScenarioError) -> dict[str, Any]:
    return {
        "file": error.file, "line": error.line, "key": error.key, "problem": error.problem, "found": error.found,
        "allowed": error.allowed, "hint": error.hint,
    }  # fmt: skip


def warnings(plan: Plan, time: TimeNeed, memory: MemoryNeed) -> Iterator[str]:
    """What will not do, with both figures. A time limit that ends a run early may be meant so, as may a timer; too
    little memory is a property of this machine, which `tb run` refuses."""
    scenario = plan.scenario
    for part in plan.parts:
        yield from (f"{scenario.source}: {warning}" for warning in part.timers.warnings())
    yield from headroom_warnings(scenario)
    limit_s = scenario.time_limit_ns / 1e9
    if limit_s < time.least_s:
        on = f" on {time.bottleneck}" if time.bottleneck else ""
        yield (
            f"{scenario.source}: time_limit: {format_duration(scenario.time_limit_ns)} is over before the job can be, "
            "which takes "
            f"{seconds(time.least_s)} at least{on}"
        )
    room = available_bytes()
    if memory.least > room:
        yield (
            f"{scenario.source}: this machine has {byte_size(room)} of memory available, and a run in the "
            f"{scenario.world} world "
            f"takes about {byte_size(memory.least)}: `tb run` refuses it here"
        )


def resolved_text(scenario: Scenario, plan: Plan) -> str:
    """The scenario as a file, with every default written out; behind each timer that is `auto`, its value."""
    lines, parts, place = [], list(plan.parts), -1
    for line in dump_scenario(scenario).splitlines():
        key, _, value = line.strip().partition(": ")
        if line.strip() == "transport:":
            place += 1
        chosen = {timer.key: timer for timer in parts[min(place, len(parts) - 1)].timers.each} if place >= 0 else {}
        lines.append(f"{line}  # {chosen[key].shown}" if value == "auto" and key in chosen else line)
    return "\n".join(lines) + "\n"
