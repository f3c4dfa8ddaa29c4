"""Scenario files: from YAML to one frozen value, and back.

`loader` reads a file and `model` is what comes out; `dump` and `schema` go the other way. `keys/` has a module for each
section, `protocols/` what the names of protocols and programs stand for, `checks/` the rules between sections.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from testbed.reading.problems import InvalidScenario
from workloads.lazily import lazily

if TYPE_CHECKING:
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

__getattr__ = lazily(
    __name__,
    {
        "Job": ".model",
        "Scenario": ".model",
        "SwitchOptions": ".model",
        "Transport": ".model",
        "builtin_names": ".builtin",
        "dump_scenario": ".dump",
        "load_scenario": ".loader",
        "parse_scenario": ".loader",
    },
)
