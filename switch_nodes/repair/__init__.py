"""The switch program of repair jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workloads.lazily import lazily

if TYPE_CHECKING:
    from switch_nodes.repair.program import RepairProgram

__all__ = [
    "RepairProgram",
]

__getattr__ = lazily(__name__, dict.fromkeys(__all__, ".program"))
