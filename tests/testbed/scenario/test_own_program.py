"""Scenarios whose switches run a user's own program."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from testbed.scenario import dump_scenario, load_scenario
from testbed.scenario.own_program import PROGRAM_KEY, code_words, with_stock_code
from workloads.errors import ScenarioError


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def own_file(program: str) -> str:
    path = Path(program.rpartition(":")[0])
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("class C: ...\n", encoding="utf-8")
    return f"{PROGRAM_KEY}={program}"


@pytest.mark.parametrize(
    ("name", "program"),
    [
        ("rack", "netreduce"),
        ("switchml", "switchml"),
        ("esa", "esa"),
        ("ring", "forward"),
        ("grid", "grid"),
    ],
)
def test_a_file_holds_the_program_of_ours_that_serves(name: str, program: str, tmp_path: Path) -> None:
    own = load_scenario(name, [own_file("a/b.py:C")])
    path = f"{tmp_path}/s.yaml"
    with open(path, "w", encoding="utf-8") as file:
        file.write(dump_scenario(with_stock_code(own)))
    assert load_scenario(path).switch.program == program
    assert load_scenario(path, [f"{PROGRAM_KEY}=a/b.py:C"]).switch == own.switch


def test_a_program_of_ours_stays() -> None:
    ours = load_scenario("atp", ["switch.program=forward"])
    assert with_stock_code(ours) is ours
    assert code_words(ours) == []


@pytest.mark.parametrize("program", ["a/b.py:C", "~/b.py:C", "[a].py:C", "'a.py:C", "#a.py:C", "*a.py:C", 'q"\\.py:C'])
def test_the_words_name_it_whatever_yaml_makes_of_a_path(program: str) -> None:
    own_file(program)
    option, override = code_words(load_scenario("rack", [f"{PROGRAM_KEY}={json.dumps(program)}"]))
    assert option == "--set"
    assert load_scenario("rack", [override]).switch.program == program


def test_a_file_cannot_name_code(tmp_path: Path) -> None:
    own = load_scenario("rack", [own_file("a/b.py:C")])
    path = f"{tmp_path}/s.yaml"
    with open(path, "w", encoding="utf-8") as file:
        file.write(dump_scenario(own))
    with pytest.raises(ScenarioError, match="a scenario file cannot name code to run"):
        load_scenario(path)
