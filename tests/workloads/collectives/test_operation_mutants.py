"""Ten and more bugs planted in each operation of a mesh are found."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.support.operation_mutants import OPERATION_PLANTED, runs_of
from workloads.collectives import messages
from workloads.collectives.operations import OPERATIONS


@pytest.fixture(autouse=True)
def no_schedule_is_remembered():
    messages.messages_of.cache_clear()
    yield
    messages.messages_of.cache_clear()


@pytest.mark.parametrize("operation", OPERATIONS)
def test_nothing_is_planted_and_nothing_is_found(operation: str) -> None:
    runs_of(operation)


@pytest.mark.parametrize(("operation", "kind"), OPERATION_PLANTED)
def test_a_planted_bug_is_found(operation: str, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    OPERATION_PLANTED[operation, kind](monkeypatch)
    with pytest.raises((AssertionError, ValueError)):
        runs_of(operation)


def test_each_operation_has_ten() -> None:
    counts = Counter(operation for operation, _ in OPERATION_PLANTED)
    assert set(counts) == set(OPERATIONS)
    assert min(counts.values()) >= 10
