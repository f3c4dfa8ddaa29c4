"""Every bug planted in the mesh is found."""

from __future__ import annotations

import pytest

from tests.support.mesh_mutants import MESH_PLANTED, all_runs
from workloads.collectives import messages


@pytest.fixture(autouse=True)
def no_schedule_is_remembered():
    messages.messages_of.cache_clear()
    yield
    messages.messages_of.cache_clear()


def test_nothing_is_planted_and_nothing_is_found() -> None:
    all_runs()


@pytest.mark.parametrize("name", MESH_PLANTED)
def test_a_planted_bug_is_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    MESH_PLANTED[name](monkeypatch)
    with pytest.raises((AssertionError, IndexError, ValueError)):
        all_runs()
