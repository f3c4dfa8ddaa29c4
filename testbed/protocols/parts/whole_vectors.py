"""Protocols whose all-reduce of whole vectors stands for the other operations: ranks that give nothing send zeros."""

from __future__ import annotations

from testbed.hunt.contract import Protocol
from workloads.collectives.operations import ALL_REDUCE, SUMMED_OPERATIONS

__all__ = ["WholeVectors"]


class WholeVectors(Protocol):
    """`order` must give what each rank keeps (`testbed.checkers.operations`)."""

    def operations(self) -> tuple[str, ...]:
        return SUMMED_OPERATIONS

    def sends_zeros(self, operation: str) -> bool:
        return operation != ALL_REDUCE
