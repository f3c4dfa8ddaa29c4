"""How busy the machine is."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from testbed.kernel.load import crowd


def test_a_crowd_is_what_runs_besides_this_process_per_processor(tmp_path: Path) -> None:
    stat, counts = tmp_path / "stat", [1, 5]

    def look(_: float) -> None:
        counts.append(counts.pop(0))
        stat.write_text(f"cpu 1 2 3\nprocs_running {counts[0]}\nprocs_blocked 0\n")

    assert crowd(stat, look) == pytest.approx(2 / len(os.sched_getaffinity(0)))


@pytest.mark.parametrize("text", [None, "", "cpu 1 2 3\n", "procs_running 0\n"])
def test_a_machine_that_does_not_count_has_no_crowd(tmp_path: Path, text: str | None) -> None:
    if text is not None:
        (tmp_path / "stat").write_text(text)
    assert crowd(tmp_path / "stat", lambda _: None) == 0.0
