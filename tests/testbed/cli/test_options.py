"""What the options of commands say without importing what they are about."""

from __future__ import annotations

import argparse
import dataclasses

import pytest

from switch_nodes.config import SwitchConfig
from testbed.cli import catalogue, graphing, lab
from testbed.cli.commands import COMMANDS
from testbed.cli.options.catalogue import LISTS
from testbed.cli.options.graphing import configure_graph
from testbed.cli.options.lab import ACTIONS
from testbed.cli.options.nodes import configure_switch
from testbed.scenario import builtin_names, load_scenario
from testbed.scenario.builtin import builtin_summaries
from testbed.sweeps import builtin_sweeps, describe_sweep, load_sweep


def test_the_help_of_a_switch_names_every_key_of_its_file():
    parser = argparse.ArgumentParser()
    configure_switch(parser)
    text = " ".join(str(parser.epilog).split())
    keys = [field.name for field in dataclasses.fields(SwitchConfig) if field.name not in ("program", "ports")]
    assert f"(switch_nodes/config.py): {', '.join(keys)}." in text


def test_the_actions_of_a_lab_are_the_steps_of_its_drivers():
    steps = {name: step.does for name, (_, step) in lab._STEPS.items()}
    own = {"up", "down", "list", "trust", "run", "console"}
    assert {name: text for name, text in ACTIONS.items() if name not in own} == steps


def test_every_list_and_every_format_is_offered():
    assert tuple(catalogue._LISTS) == LISTS
    parser = argparse.ArgumentParser()
    configure_graph(parser)
    for name in graphing._FORMATS:
        assert parser.parse_args(["rack", "--format", name]).format == name


def test_every_command_that_is_offered_can_be_run():
    """Options are apart from what they are for; both have the names of the command."""
    for name, command in COMMANDS.items():
        configure, _ = command.load(name)
        assert configure.__name__ == f"configure_{name}"
        assert hasattr(__import__(command.module, fromlist=["_"]), f"run_{name}")


def test_summaries_are_those_of_the_loaded_scenarios():
    found = {name: (description.strip(), expect) for name, description, expect in builtin_summaries()}
    assert tuple(found) == builtin_names()
    for name in builtin_names()[::7]:
        scenario = load_scenario(name)
        assert found[name] == (scenario.description.strip(), scenario.expect)


@pytest.mark.parametrize("name", builtin_sweeps())
def test_descriptions_are_those_of_the_loaded_sweeps(name):
    assert describe_sweep(name).strip() == load_sweep(name).description.strip()
