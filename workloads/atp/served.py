"""The protocol as its workers and its server know it."""

from workloads.server.kinds import ServedKind
from workloads.wire.aggregation import Policy

__all__ = ["SERVED"]

SERVED = ServedKind(Policy.ATP)
