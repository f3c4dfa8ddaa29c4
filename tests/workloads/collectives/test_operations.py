"""Figures of operations."""

from __future__ import annotations

from workloads.collectives.operations import OPERATIONS


def test_bus_factors_are_those_of_nccl_tests() -> None:
    factors = {name: operation.bus_factor(4) for name, operation in OPERATIONS.items()}
    assert factors == {
        "all_reduce": 1.5, "reduce_scatter": 0.75, "all_gather": 0.75, "all_to_all": 0.75, "broadcast": 1, "reduce": 1,
        "send": 1, "barrier": 1,
    }  # fmt: skip
