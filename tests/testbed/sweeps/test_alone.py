"""Runs in real time follow one another: the lock lies where other users cannot put anything in its way."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

import pytest

from testbed.sweeps.compute import _alone
from workloads.errors import ScenarioError

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root makes networks")


def test_it_lies_in_a_private_folder_and_is_held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INA_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    with _alone("emulated"), (tmp_path / "state" / "sweep.lock").open("r+") as again, pytest.raises(BlockingIOError):
        fcntl.flock(again, fcntl.LOCK_EX | fcntl.LOCK_NB)
    assert (tmp_path / "state").stat().st_mode & 0o777 == 0o700
    assert [path.name for path in tmp_path.iterdir()] == ["state"]
    with _alone("simulated"):
        pass


def test_a_planted_link_is_not_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    state, target = tmp_path / "state", tmp_path / "target"
    state.mkdir(mode=0o700)
    (state / "sweep.lock").symlink_to(target)
    monkeypatch.setenv("INA_STATE_DIR", str(state))
    with pytest.raises(ScenarioError, match="is not our own file"), _alone("emulated"):
        pass
    assert not target.exists()
