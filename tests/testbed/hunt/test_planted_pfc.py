"""Planted bugs of PFC are found by hunts with drawn PFC, and our own code passes the same schedules."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from testbed.hunt.draw import draw_schedule
from testbed.hunt.draw_pfc import PFC
from testbed.hunt.judge import run_and_judge
from tests.support.pfc_planted import PLANTED_PFC, hunt_pfc

_ROOT = Path(__file__).resolve().parents[3]
_SCHEDULES = 150
_ALWAYS = "XON lost"
"""found within two schedules"""
_REST = [name for name in PLANTED_PFC if name != _ALWAYS]


def hunt_for(name: str, schedules: int) -> subprocess.CompletedProcess[str]:
    """In a process of its own, without compiled modules, which no bug can be planted in."""
    words = [sys.executable, "-P", "-m", "tests.support.pfc_planted", name, "--schedules", str(schedules)]
    environment = os.environ | {"INA_NATIVE": "0", "PYTHONPATH": str(_ROOT)}
    return subprocess.run(words, env=environment, capture_output=True, text=True, check=False, timeout=600)


def test_ours_passes_what_finds_the_bugs() -> None:
    assert len(PLANTED_PFC) == 10
    assert hunt_pfc(1, 12) is None


def test_a_schedule_that_left_a_charge_behind_passes() -> None:
    scenario = draw_schedule(1, 55, kind=PFC).scenario
    assert scenario.pfc is not None
    assert run_and_judge(scenario)[0] is None


def test_a_lost_xon_is_found() -> None:
    found = hunt_for(_ALWAYS, 5)
    assert (found.returncode, "pauses_answered" in found.stdout) == (1, True), found.stderr[-500:]


@pytest.mark.minutes
@pytest.mark.parametrize("name", _REST)
def test_every_planted_bug_is_found(name: str) -> None:
    found = hunt_for(name, _SCHEDULES)
    assert (found.returncode, found.stdout[:9]) == (1, "schedule "), found.stdout + found.stderr[-500:]
