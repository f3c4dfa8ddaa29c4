"""A command that sums files: its words, its files, its exit codes."""

from __future__ import annotations

import stat
from pathlib import Path

import numpy as np
import pytest

from testbed.fingerprint.reducer import ReducerRefused, Unusable
from testbed.fingerprint.targets.command import CommandReducer
from workloads.errors import ScenarioError

ELEMENTS = 16


def script(folder: Path, text: str) -> str:
    path = folder / "run.sh"
    path.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


def reducer(template: str, ranks: int = 3, timeout_s: float = 20.0) -> CommandReducer:
    return CommandReducer(template, ranks, ELEMENTS, "float32", timeout_s)


GIVEN = np.arange(2 * 3 * ELEMENTS, dtype=np.float32).reshape(2, 3, ELEMENTS)


@pytest.mark.parametrize("words", ["{in} {out}", "{in} ... {out}", "{in} --out={out}"])
def test_files_by_rank(words: str, tmp_path: Path) -> None:
    path = script(tmp_path, 'for last; do :; done; cat "$2" > "${last#--out=}"')
    found = reducer(f"{path} {words}").reduce(GIVEN)
    assert np.array_equal(found, GIVEN[:, 1])


def test_numbers(tmp_path: Path) -> None:
    path = script(tmp_path, f'test "$1" = 3-{ELEMENTS} && cat "$2" > "$5"')
    assert np.array_equal(reducer(f"{path} {{ranks}}-{{elements}} {{in}} {{out}}").reduce(GIVEN), GIVEN[:, 0])


def test_other_exit_codes_refuse(tmp_path: Path) -> None:
    path = script(tmp_path, "echo first >&2; echo too large >&2; exit 7")
    with pytest.raises(ReducerRefused, match="ended with exit code 7: too large"):
        reducer(f"{path} {{in}} {{out}}").reduce(GIVEN)
    with pytest.raises(ReducerRefused, match=r"longer than 0\.05 s"):
        reducer(f"{script(tmp_path, 'exec sleep 9')} {{in}} {{out}}", timeout_s=0.05).reduce(GIVEN)


@pytest.mark.parametrize(
    ("text", "problem"), [(":", "wrote no {out}"), ('echo hello > "$4"', "wrote 6 bytes to {out}, not 64")]
)
def test_results_that_are_none(text: str, problem: str, tmp_path: Path) -> None:
    with pytest.raises(Unusable) as error:
        reducer(f"{script(tmp_path, text)} {{in}} {{out}}").reduce(GIVEN)
    assert problem in str(error.value)


@pytest.mark.parametrize(
    ("template", "problem"),
    [
        ("cat {out}", "has no {in} as a word of its own"),
        ("cat x{in} {out}", "has no {in} as a word of its own"),
        ("cat {in}", "has no {out}"),
        ("cat '{in} {out}", "cannot be read"),
        ("no-such-program {in} {out}", "no such program"),
        ("/etc/passwd {in} {out}", "cannot be executed"),
        ("", "has no {in}"),
    ],
)
def test_bad_templates(template: str, problem: str) -> None:
    with pytest.raises(ScenarioError) as error:
        reducer(template)
    assert problem in str(error.value)
