"""The protocol as its workers and its server know it."""

from workloads.server.kinds import ServedKind
from workloads.wire.aggregation import MAX_GRID_ELEMENTS, Policy

__all__ = ["SERVED"]

SERVED = ServedKind(Policy.GRID, MAX_GRID_ELEMENTS, names_racks=False)
