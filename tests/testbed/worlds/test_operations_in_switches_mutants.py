"""Every bug planted in the operations that switches sum is found."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.whole_vector_mutants import PLANTED, all_runs
from workloads.errors import ScenarioError


@pytest.mark.protocols("switchml")
def test_nothing_is_planted_and_nothing_is_found(tmp_path: Path) -> None:
    all_runs(tmp_path)


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_bug_is_found(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    PLANTED[name](monkeypatch)
    with pytest.raises((AssertionError, ScenarioError, ValueError)):
        all_runs(tmp_path)
