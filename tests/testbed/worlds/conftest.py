"""Tests of worlds ask for sums, not for figures: their emulated runs keep real time and are made once, unless the
scenario names a dilation."""

from __future__ import annotations

import pytest

from testbed.runs import run


@pytest.fixture(autouse=True)
def real_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "choose_for_machine", lambda plan, say: 1)
    monkeypatch.setattr(run, "MOST_ATTEMPTS", 0)
