"""The card of an emulated lab as hardware: a lossy rack has the sums and the lost packets of the simulated world."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from testbed.lab.emulated.shape import RTL, LabShape
from tests.support.labs import environment, lab_of, require_lab
from tests.support.rtl import needs_simulation

_CHANGES = ("job.size=100kB",)


def _tb(folder: Path, *words: str) -> str:
    done = subprocess.run(
        [sys.executable, "-P", "-m", "testbed", *words],
        env=environment(XDG_STATE_HOME=str(folder)), capture_output=True, text=True, timeout=500, check=False,
    )  # fmt: skip
    assert done.returncode == 0, f"{words}\n{done.stdout}{done.stderr}"
    return done.stdout


def _run_there(lab: Path, folder: Path) -> None:
    run = folder / "lab"
    said = _tb(
        folder, "run", "rack-lossy", "--world", "lab", "--inventory", str(lab), "--set", *_CHANGES, "--out", str(run),
        "--no-color",
    )  # fmt: skip
    assert "Verdict: PASS" in said
    assert "faults_exercised" in said
    # the same sums; and of first transmissions, faults hit the same packets
    said = _tb(folder, "replay", str(run), "--world", "simulated", "--out", str(folder / "simulated"))
    assert "compared: 4 results, " in said
    assert said.rstrip().endswith("; no differences")


@pytest.mark.root
def test_cables_of_the_emulated_card_lose_what_links_lose(tmp_path: Path) -> None:
    require_lab()
    with lab_of(LabShape(f"l{os.getpid()}", hosts=4)) as lab:
        _run_there(lab, tmp_path)


@pytest.mark.root
@pytest.mark.minutes
@pytest.mark.timeout(900)
def test_the_hardware_does_it_too(tmp_path: Path) -> None:
    require_lab()
    needs_simulation()
    from testbed.lab.emulated.hardware import library_of

    shape = LabShape(f"r{os.getpid()}", hosts=4, card_kind=RTL)
    library_of(shape)  # takes longer than a lab may take to come up
    with lab_of(shape) as lab:
        _run_there(lab, tmp_path)
