"""Independent models in Promela have as many states as we visit."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support.floors import ROOT
from tests.support.states_cases import interpreted

_MODELS = ROOT / "tests" / "data" / "promela"
needs_spin = pytest.mark.skipif(
    shutil.which("spin") is None or shutil.which("gcc") is None, reason="spin and gcc are needed: apt-get install spin"
)


def _spin(folder: Path, model: str, sizes: dict[str, int]) -> tuple[int, int]:
    """(states, transitions) that Spin visits without an error."""
    macros = [f"-D{name}={value}" for name, value in sizes.items()]
    for command in (
        ["spin", "-a", *macros, str(_MODELS / f"{model}.pml")],
        ["gcc", "-O1", "-w", "-DSAFETY", "-DNOREDUCE", "-o", "pan", "pan.c"],
    ):
        subprocess.run(command, cwd=folder, check=True, capture_output=True, timeout=300)
    done = subprocess.run(
        ["./pan", "-m1000000"], cwd=folder, check=True, capture_output=True, text=True, timeout=600
    ).stdout
    assert "errors: 0" in done, done
    states = re.search(r"(\d+) states, stored", done)
    transitions = re.search(r"(\d+) transitions", done)
    assert states is not None, done
    assert transitions is not None, done
    return int(states[1]), int(transitions[1])


@needs_spin
@pytest.mark.parametrize(
    ("protocol", "workers", "slots", "blocks", "faults"),
    [
        ("switchml", 2, 1, 1, 0),
        ("switchml", 2, 2, 3, 1),
        pytest.param("switchml", 2, 1, 3, 2, marks=pytest.mark.minutes),
        pytest.param("switchml", 3, 2, 3, 0, marks=pytest.mark.minutes),
        ("netreduce", 2, 2, 3, 0),
        ("netreduce", 2, 1, 1, 1),
        pytest.param("netreduce", 3, 1, 1, 0, marks=pytest.mark.minutes),
        pytest.param("netreduce", 2, 2, 3, 1, marks=pytest.mark.minutes),
        pytest.param("netreduce", 2, 1, 2, 2, marks=pytest.mark.minutes),
    ],
)
def test_spin_counts_the_same_states(
    tmp_path: Path, protocol: str, workers: int, slots: int, blocks: int, faults: int
) -> None:
    ours = interpreted("counted", protocol, [workers, slots, blocks], faults, [], True)
    window = "S" if protocol == "switchml" else "N"
    states, transitions = _spin(tmp_path, protocol, {"W": workers, window: slots, "B": blocks, "F": faults})
    assert ours["states"] == states
    assert ours["transitions"] + 1 == transitions, "Spin counts the step to the first state"
    assert ours["violations"] == []
