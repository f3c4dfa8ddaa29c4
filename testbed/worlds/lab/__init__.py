"""Worlds with hardware of a lab: workers and card there (`LabWorld`), or emulated hosts with a card there
(`MixedWorld`); docs/lab.md."""

from testbed.worlds.lab.mixed import MixedWorld
from testbed.worlds.lab.world import LabWorld

__all__ = ["LabWorld", "MixedWorld"]
