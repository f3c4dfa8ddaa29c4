"""Steps of the tables of NetReduce's switches, by name."""

from __future__ import annotations

from switch_nodes.netreduce.tables import CONNECTION_TABLE, FRAME_TABLE, LEAF_SLOT_TABLE, SLOT_TABLE

__all__ = ["ON_FABRIC", "ON_RACK"]

ON_RACK: tuple[str, ...] = (
    *(f"frame {kind.name}".lower() for kind in FRAME_TABLE),
    *CONNECTION_TABLE.steps,
    *SLOT_TABLE.steps,
)
ON_FABRIC: tuple[str, ...] = LEAF_SLOT_TABLE.steps
"""those that only leaves take, below spines"""
