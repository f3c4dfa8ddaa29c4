"""The switch program of repair jobs."""

from switch_nodes.repair.program import RepairProgram

__all__ = ["RepairProgram"]
