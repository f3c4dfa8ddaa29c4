"""`clocks`: how far the nodes' clocks are off. Each node draws an offset and a drift of its own from the seed."""

from __future__ import annotations

from dataclasses import dataclass

from testbed.reading.fields import DriftKey, DurationKey
from testbed.reading.sections import Section

__all__ = ["TRUE_CLOCKS", "Clocks"]


@dataclass(frozen=True, slots=True)
class Clocks(Section):
    """What every node's clock stays within."""

    offset_ns: DurationKey = 0
    """each node's offset lies in -offset .. +offset"""
    drift_ppb: DriftKey = 0
    """each node's drift lies in -drift .. +drift; at most `10%`"""


TRUE_CLOCKS = Clocks()
"""Every node has the time of the world."""
