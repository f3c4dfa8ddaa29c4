"""The documentation names what is there, and its examples run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from switch_nodes.config import SwitchConfig
from switch_nodes.registry import create_program
from testbed.cli.commands import COMMANDS
from testbed.scenario import builtin_names, parse_scenario
from testbed.scenario.fault_schema import FAULT_KINDS, OPCODE_GROUPS, MatchKeys
from testbed.scenario.names import NODE_ROLES
from testbed.scenario.schema import (
    BackgroundKeys,
    CableKeys,
    ClockKeys,
    DcqcnKeys,
    JobEntryKeys,
    JobKeys,
    LinkKeys,
    NodeKeys,
    ScenarioKeys,
    SwitchKeys,
    TransportKeys,
)
from testbed.scenario.topology_kinds import TOPOLOGY_KINDS
from testbed.scenario.validate import key_names

_TOP = Path(__file__).resolve().parents[1]
_SCENARIO = (_TOP / "docs" / "scenario.md").read_text(encoding="utf-8")
_JOBS = (_TOP / "docs" / "jobs.md").read_text(encoding="utf-8")
_CONGESTION = (_TOP / "docs" / "congestion.md").read_text(encoding="utf-8")
_EXTENDING = (_TOP / "docs" / "extending.md").read_text(encoding="utf-8")
_README = (_TOP / "README.md").read_text(encoding="utf-8")


def _section(heading: str) -> str:
    return _SCENARIO.split(f"\n## {heading}\n")[1].split("\n## ")[0]


@pytest.mark.parametrize(
    ("heading", "keys"),
    [
        ("Top level", key_names(ScenarioKeys)),
        ("topology", [*key_names(LinkKeys), *TOPOLOGY_KINDS]),
        ("topology", sorted({key for kind in TOPOLOGY_KINDS.values() for key in key_names(kind.keys)})),
        ("topology", [*key_names(NodeKeys), *key_names(CableKeys), *NODE_ROLES]),
        ("switch", key_names(SwitchKeys)),
        ("transport", key_names(TransportKeys)),
        ("job", key_names(JobKeys)),
        ("jobs", key_names(JobEntryKeys)),
        ("clocks", key_names(ClockKeys)),
        ("background", key_names(BackgroundKeys)),
        ("faults", [*FAULT_KINDS, *key_names(MatchKeys), *OPCODE_GROUPS]),
        ("faults", sorted({key for kind in FAULT_KINDS.values() for key in key_names(kind.keys)})),
    ],
)
def test_every_key_is_explained(heading, keys):
    assert [key for key in keys if f"`{key}`" not in _section(heading)] == []


def test_every_key_of_congestion_control_is_explained():
    assert [key for key in key_names(DcqcnKeys) if f"`{key}`" not in _CONGESTION] == []


def test_the_examples_of_scenario_files_load():
    texts = re.findall(r"```yaml\n(name: .*?)```", _SCENARIO + _README + _CONGESTION + _JOBS, re.DOTALL)
    assert len(texts) >= 4
    for text in texts:
        parse_scenario(text, "example.yaml")


def test_the_readme_names_every_command_and_real_scenarios():
    assert [name for name in COMMANDS if f"`tb {name}" not in _README] == []
    named = set(re.findall(r"tb (?:run|validate) ([a-z][a-z-]+)(?![\w.-])", _README))
    assert named <= set(builtin_names())
    assert named


def test_the_program_of_the_guide_runs(tmp_path):
    text = next(
        block for block in re.findall(r"```python\n(.*?)```", _EXTENDING, re.DOTALL) if "OpcodeCounter" in block
    )
    (tmp_path / "counter.py").write_text(text, encoding="utf-8")
    program = create_program(SwitchConfig("s1", f"{tmp_path / 'counter.py'}:OpcodeCounter", 2))
    program.receive_frame(0, bytes(range(60)), 0)
    assert [port for port, _ in program.frames_to_send(0)] == [1]
    program.finish(1)
    names = []
    while (event := program.next_event()) is not None:
        names.append(type(event).__name__)
    assert names == ["SwitchStatistics", "OpcodesSeen"]


def test_links_between_documents_lead_somewhere():
    for path in [_TOP / "README.md", *(_TOP / "docs").glob("*.md")]:
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", path.read_text(encoding="utf-8")):
            assert (path.parent / target).exists(), f"{path.name}: {target}"
