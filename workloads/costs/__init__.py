"""Cost models of all-reduce: closed forms, no simulation."""

from workloads.costs.conditions import Statement, state_condition, threshold_ratio
from workloads.costs.hierarchical import EqualMachines
from workloads.costs.registry import FLAT_COSTS, MACHINE_COSTS, flat_cost, machine_cost
from workloads.costs.traffic import sent_bytes

__all__ = [
    "FLAT_COSTS",
    "MACHINE_COSTS",
    "EqualMachines",
    "Statement",
    "flat_cost",
    "machine_cost",
    "sent_bytes",
    "state_condition",
    "threshold_ratio",
]
