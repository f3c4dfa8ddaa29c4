"""What a soak says of a scenario that cannot be run at all."""

from __future__ import annotations

import sys

import pytest

from benchmarks import soak


def test_an_invalid_scenario_is_told_before_anything_runs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(soak, "run", None)
    monkeypatch.setattr(sys, "argv", ["soak", "rack", "jobs-64", "--set", "switch.program=forward"])
    assert soak.main() == 64
    out, err = capsys.readouterr()
    assert not out
    assert "--set: switch.program: protocol netreduce does not run over program forward; " in err
