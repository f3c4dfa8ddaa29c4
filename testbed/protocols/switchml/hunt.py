"""Hunts in SwitchML: what is drawn."""

from __future__ import annotations

from switch_nodes.switchml.tables import SLOT_TABLE
from testbed.hunt.kinds import DatagramHunt

__all__ = ["HUNT"]

HUNT = DatagramHunt({"float32": 45, "int32": 55}, SLOT_TABLE.steps, values_per_index=2)
