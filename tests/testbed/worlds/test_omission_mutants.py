"""Ten and more bugs planted in each operation of SwitchML are found."""

from __future__ import annotations

from collections import Counter

import pytest

from testbed.hunt.judge import OURS
from tests.support.omission_mutants import OMISSION_PLANTED, judged
from workloads.collectives.operations import ALL_REDUCE, SUMMED_OPERATIONS

OTHERS = [operation for operation in SUMMED_OPERATIONS if operation != ALL_REDUCE]


@pytest.mark.parametrize("operation", OTHERS)
def test_nothing_is_planted_and_nothing_is_found(operation: str) -> None:
    assert judged(operation, OURS) is None


@pytest.mark.parametrize(("operation", "kind"), OMISSION_PLANTED)
def test_a_planted_bug_is_found(operation: str, kind: str) -> None:
    assert judged(operation, OMISSION_PLANTED[operation, kind]) is not None


def test_each_operation_has_ten() -> None:
    counts = Counter(operation for operation, _ in OMISSION_PLANTED)
    assert set(counts) == set(OTHERS)
    assert min(counts.values()) >= 10
