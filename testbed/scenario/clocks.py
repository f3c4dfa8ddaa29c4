"""`clocks`: how far the nodes' clocks are off. Each node draws an offset and a drift of its own from the seed."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["TRUE_CLOCKS", "Clocks"]


@dataclass(frozen=True, slots=True)
class Clocks:
    """What every node's clock stays within."""

    offset_ns: int = 0
    """each node's offset is drawn from -offset .. +offset"""
    drift_ppb: int = 0
    """each node's drift is drawn from -drift .. +drift, in 10^-9"""


TRUE_CLOCKS = Clocks()
"""Every node has the time of the world."""
