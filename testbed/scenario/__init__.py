"""Scenario files: from YAML to one frozen value, and back."""

from testbed.reading.problems import InvalidScenario
from testbed.scenario.builtin import builtin_names
from testbed.scenario.dump import dump_scenario
from testbed.scenario.loader import load_scenario, parse_scenario
from testbed.scenario.model import Job, Scenario, SwitchOptions, Transport

__all__ = [
    "InvalidScenario",
    "Job",
    "Scenario",
    "SwitchOptions",
    "Transport",
    "builtin_names",
    "dump_scenario",
    "load_scenario",
    "parse_scenario",
]
