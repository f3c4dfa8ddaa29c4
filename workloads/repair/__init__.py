"""The hosts of a repair job: donors, and the newcomer that gets the lost block."""

from workloads.repair.config import CodeShare, RepairConfig

__all__ = ["CodeShare", "RepairConfig"]
