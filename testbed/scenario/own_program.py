"""A switch program of the user's own, `path.py:Class`. No scenario file may name code: only a person does, with `--set`."""

from __future__ import annotations

import json
from dataclasses import replace

from switch_nodes.program_files import PROGRAM_KEY
from testbed.reading.yamlfile import parse_yaml
from testbed.scenario.known import protocol_of
from testbed.scenario.model import Scenario
from testbed.scenario.overrides import SET_FILE
from workloads.errors import ScenarioError

__all__ = ["PROGRAM_KEY", "is_own_program", "program_words", "with_stock_program"]


def is_own_program(program: str) -> bool:
    """Code from a file, not one of ours by name."""
    return ":" in program


def with_stock_program(scenario: Scenario) -> Scenario:
    """With the program of ours that serves it in place of code from a file, so that a file can hold it."""
    if not is_own_program(scenario.switch.program):
        return scenario
    program = protocol_of(scenario.job.collective).programs[0]
    return replace(scenario, switch=replace(scenario.switch, program=program))


def program_words(program: str) -> list[str]:
    """What a command line needs beside the scenario file to run `program`: `--set` and its value, or nothing."""
    if not is_own_program(program):
        return []
    # The value is read as YAML, to which some paths mean something else.
    return [SET_FILE, f"{PROGRAM_KEY}={program if _is_plain(program) else json.dumps(program, ensure_ascii=False)}"]


def _is_plain(text: str) -> bool:
    try:
        return bool(parse_yaml(text.strip(), SET_FILE)[0] == text)
    except ScenarioError:
        return False
