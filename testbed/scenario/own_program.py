"""A switch program, or a protocol, of the user's own, `path.py:NAME`. No scenario file may name code: only a person
does, with `--set`."""

from __future__ import annotations

import json
from dataclasses import replace

from switch_nodes.own_program import ProgramFailed, ended_process, slow_process
from switch_nodes.program_files import PROGRAM_KEY
from testbed.kernel.overdue import LIMIT_S
from testbed.reading.sections import write_section
from testbed.reading.yamlfile import parse_yaml
from testbed.scenario.model import Scenario
from testbed.scenario.overrides import SET_FILE
from testbed.scenario.protocols.known import protocol_of
from testbed.scenario.protocols.own_code import is_in_file, is_own_code
from testbed.scenario.protocols.own_protocol import PROTOCOL_KEY
from workloads.errors import ScenarioError

__all__ = [
    "CODE_KEYS",
    "PROGRAM_KEY",
    "code_words",
    "ended_own_code",
    "is_own_program",
    "own_code",
    "set_words",
    "with_stock_code",
]

CODE_KEYS = (PROGRAM_KEY, PROTOCOL_KEY)
"""keys that may name code"""


def is_own_program(program: str) -> bool:
    """Whether it is not built in: code from a file, or of an installed package."""
    return is_own_code(program)


def own_code(scenario: Scenario) -> str | None:
    """A switch program, or else a protocol, of the user's own that a run of it executes."""
    return next(filter(is_own_code, (scenario.switch.program, scenario.job.protocol)), None)


def ended_own_code(scenario: Scenario, status: int, *, overdue: bool) -> ProgramFailed:
    """For a world: the user's code, of a scenario that has some, ended its process; `overdue`: it was ended, since a
    call did not return."""
    program, protocol = scenario.switch.program, scenario.job.protocol
    name, what = (program, "program") if is_own_program(program) else (protocol, "protocol")
    return slow_process(name, LIMIT_S, "", what) if overdue else ended_process(name, status, what=what)


def with_stock_code(scenario: Scenario) -> Scenario:
    """With the protocol and the program of ours that serve it in place of code from files, so that a file can hold
    it."""
    protocol = scenario.job.protocol
    if is_in_file(protocol):
        like = protocol_of(protocol).like
        scenario = replace(
            scenario,
            job=replace(scenario.job, protocol=like, own=None),
            jobs=tuple(replace(job, protocol=like, own=None) for job in scenario.jobs),
        )
    served = protocol_of(scenario.job.protocol).programs
    if is_in_file(scenario.switch.program) or (is_in_file(protocol) and scenario.switch.program not in served):
        scenario = replace(scenario, switch=replace(scenario.switch, program=served[0]))
    return scenario


def code_words(scenario: Scenario) -> list[str]:
    """Arguments that a command line needs, in addition to the scenario file, to run code from files: `--set` and its
    value for each, or nothing."""
    stock = with_stock_code(scenario)
    program = scenario.switch.program
    changed = [] if program == stock.switch.program else [(PROGRAM_KEY, program)]
    own = [(PROTOCOL_KEY, scenario.job.protocol)] if is_in_file(scenario.job.protocol) else []
    words = [word for key, name in (*own, *changed) for word in set_words(key, name)]
    keys = write_section(scenario.job.own) if own and scenario.job.own is not None else {}
    return words + [word for key, value in keys.items() for word in (SET_FILE, f"job.{key}={json.dumps(value)}")]


def set_words(key: str, name: str) -> list[str]:
    """`--set` and its value, which is read as YAML, to which some paths mean something else."""
    return [SET_FILE, f"{key}={name if _is_plain(name) else json.dumps(name, ensure_ascii=False)}"]


def _is_plain(text: str) -> bool:
    try:
        return bool(parse_yaml(text.strip(), SET_FILE)[0] == text)
    except ScenarioError:
        return False
