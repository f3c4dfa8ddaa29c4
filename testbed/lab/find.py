"""Which inventory a command means."""

from __future__ import annotations

import os
from pathlib import Path

from testbed.lab.emulated import emulated_inventory
from workloads.errors import ScenarioError

__all__ = ["find_inventory"]


def find_inventory(given: Path | None) -> Path:
    """Raises ScenarioError when there is none."""
    if given is not None:
        return given
    named = os.environ.get("INA_LAB")
    if named:
        return Path(named)
    here = Path("lab.yaml")
    found = here if here.is_file() else emulated_inventory()
    if found is None:
        raise ScenarioError(
            "there is no inventory", file="tb lab", key="--inventory",
            allowed="a file; or $INA_LAB, or lab.yaml here, or an emulated lab: tb lab up --emulated",
        )  # fmt: skip
    return found
