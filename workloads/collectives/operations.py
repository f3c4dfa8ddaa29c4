"""What a job asks of its protocol: an all-reduce, or another collective operation of MPI and NCCL.

The vector of every rank has the same number of elements. Cut into P chunks (`schedules.chunk_bounds`), chunk r belongs
to rank r.

| operation | rank r gives | rank r holds in the end |
|---|---|---|
| all_reduce | its vector | the sum of all vectors |
| reduce_scatter | its vector | chunk r of the sum |
| all_gather | chunk r of its vector | chunk c of rank c's vector, for each c |
| broadcast | the root its vector | the root's vector |
| all_to_all | its vector | chunk r of every rank's vector, in rank order |
| reduce | its vector | the root: the sum; the others: nothing |
| send | the root its vector | the rank after the root: the root's vector; the others: nothing |
| barrier | nothing | nothing: no rank ends before all have begun |
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["ALL_REDUCE", "BARRIER", "OPERATIONS", "SUMMED_OPERATIONS", "OperationKind"]

ALL_REDUCE, BARRIER = "all_reduce", "barrier"


@dataclass(frozen=True, slots=True)
class OperationKind:
    summary: str
    """what it does, one line for people"""
    sums: bool = True
    """False: it moves vectors, and adds nothing"""
    has_root: bool = False
    bus_parts: int | None = None
    """busbw of nccl-tests over algbw, in (P - 1) / P (its doc/PERFORMANCE.md); None: they are equal"""

    def bus_factor(self, ranks: int) -> float:
        return 1.0 if self.bus_parts is None else self.bus_parts * (ranks - 1) / ranks


OPERATIONS: Mapping[str, OperationKind] = {
    ALL_REDUCE: OperationKind("every rank gets the sum of all vectors", bus_parts=2),
    "reduce_scatter": OperationKind("rank r gets chunk r of the sum", bus_parts=1),
    "all_gather": OperationKind("every rank gets chunk r of the vector of rank r, for each r", sums=False, bus_parts=1),
    "broadcast": OperationKind("every rank gets the root's vector", sums=False, has_root=True),
    "all_to_all": OperationKind("rank r gets chunk r of every rank's vector", sums=False, bus_parts=1),
    "reduce": OperationKind("the root gets the sum of all vectors", has_root=True),
    "send": OperationKind("the rank after the root gets the root's vector", sums=False, has_root=True),
    BARRIER: OperationKind("no rank ends before all have begun; nothing moves", sums=False),
}

SUMMED_OPERATIONS = (ALL_REDUCE, "reduce_scatter", "all_gather", "broadcast", "reduce", BARRIER)
"""those that an all-reduce of whole vectors can stand for: a rank that gives nothing gives zeros"""
