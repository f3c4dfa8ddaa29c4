"""--dilation and --no-twin on the command line."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

import pytest

from testbed.cli import main
from testbed.cli.dilating import dilated, parse_dilation
from testbed.cli.parsing import make_parser
from testbed.scenario import load_scenario
from workloads.errors import ScenarioError


def test_what_it_takes() -> None:
    assert [parse_dilation(text) for text in ("1", "250", "10000", "auto")] == [1, 250, 10_000, "auto"]


@pytest.mark.parametrize("text", ["0", "-1", "10001", "2.5", "x", "", "AUTO", "99999999999999999999"])
def test_what_it_does_not_take(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="allowed: auto, or a whole number from 1 to 10000"):
        parse_dilation(text)


@pytest.mark.parametrize("command", [["run", "rack"], ["demo"]])
def test_a_bad_factor_is_a_usage_error(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*command, "--dilation", "0"]) == 64
    assert "allowed: auto, or a whole number from 1 to 10000" in capsys.readouterr().err


def test_a_shell_has_no_plan_to_choose_a_factor_for(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["shell", "rack", "--dilation", "auto"]) == 64
    assert "allowed: a whole number from 1 to 10000" in capsys.readouterr().err


def test_real_time_is_a_dilation_of_one(capsys: pytest.CaptureFixture[str]) -> None:
    for command in ("run", "demo", "shell"):
        words = [command] if command == "demo" else [command, "rack"]
        assert make_parser(command).parse_args([*words, "--real-time"]).dilation == 1
        assert make_parser(command).parse_args(words).dilation is None
        assert main([*words, "--real-time", "--dilation", "2"]) == 64
        assert "not allowed with argument --real-time" in capsys.readouterr().err


def test_a_scenario_that_names_no_factor_leaves_it_to_the_machine() -> None:
    assert load_scenario("rack").dilation is load_scenario("demo").dilation is None


def test_virtual_time_cannot_be_slowed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "rack", "--world", "simulated", "--dilation", "2", "--out", str(tmp_path / "r")]) == 64
    assert "--dilation: means nothing in this world; allowed: with --world emulated" in " ".join(
        capsys.readouterr().err.split()
    )


def test_a_scenario_with_a_factor_runs_in_virtual_time_too(tmp_path: Path) -> None:
    changes = ["--set", "dilation=7", "--set", "job.size=40kB", "--out", str(tmp_path / "r"), "-q"]
    assert main(["run", "rack", "--world", "simulated", *changes]) == 0


@pytest.mark.parametrize("value", ["0", "10001", "slow", "1.5"])
def test_the_key_of_a_scenario(value: str) -> None:
    with pytest.raises(ScenarioError, match="auto, or a whole number from 1 to 10000"):
        load_scenario("rack", [f"dilation={value}"])


def test_the_key_comes_back_from_what_is_dumped() -> None:
    from testbed.scenario import dump_scenario
    from testbed.scenario.loader import parse_scenario

    for value, factor in (("auto", None), ("12", 12)):
        scenario = load_scenario("rack", [f"dilation={value}"])
        assert scenario.dilation == factor
        assert parse_scenario(dump_scenario(scenario), "again.yaml").dilation == factor


def test_the_command_line_is_before_the_file() -> None:
    scenario = load_scenario("rack", ["dilation=5"])
    assert dilated(scenario, None, "tb run").dilation == 5
    assert dilated(scenario, 9, "tb run").dilation == 9
    assert dilated(scenario, "auto", "tb run").dilation is None


@pytest.mark.parametrize("own", [1, 50])
def test_a_card_keeps_its_own_time(own: int) -> None:
    scenario = load_scenario("rack")
    assert dilated(scenario, None, "tb run", card=own) == replace(scenario, dilation=own)
    assert dilated(scenario, own, "tb run", card=own) == replace(scenario, dilation=own)
    for wish in (2, "auto"):
        with pytest.raises(ScenarioError, match=f"a card keeps its own time.*with dilation {own}"):
            dilated(scenario, wish, "tb run", card=own)
