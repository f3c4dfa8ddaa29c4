"""`tb fingerprint`: what is printed, as JSON too, and exit codes."""

from __future__ import annotations

import json
import stat
import sys
from pathlib import Path

import pytest

from testbed.cli import main

SUM = """\
import sys
from array import array
from operator import add
*names, out = sys.argv[1:]
files = [array("f", open(name, "rb").read()) for name in names]
total = files.pop()
while files:
    total = array("f", map(add, total, files.pop()))
{more}
total.tofile(open(out, "wb"))
"""
"""in reverse order; without NumPy, which takes long to import"""
WRONG = "total = array('f', (x + (1.5 < x < 1.6) for x in total))"


def command(folder: Path, more: str = "") -> str:
    path = folder / "sum.py"
    path.write_text(SUM.format(more=more), encoding="utf-8")
    return f"command:{sys.executable} -I -S {path} {{in}} ... {{out}}"


def test_a_scenario(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    assert main(["fingerprint", "netreduce", "--vectors", "4096"]) == 0
    printed = capsys.readouterr().out
    assert "netreduce: known; 4 ranks, float32\n  order         rank order: 0, 1, 2, ...\n" in printed
    assert "  sum           ((0+1)+2)+3\n" in printed
    assert "  predicted     4,096 of 4,096 fresh vectors, bit for bit\n" in printed
    assert max(map(len, printed.splitlines())) <= 80


def test_a_command_as_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["fingerprint", command(tmp_path), "--ranks", "3", "--vectors", "4096", "--json", "--quiet"]
    assert main(words) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["known"], found["ranks"], found["reason"], found["first_difference"]) == (True, 3, None, None)
    assert found["traits"]["order"] == "reverse rank order"
    assert found["orders"] == [{"first": 0, "end": 4096, "sum": "(1+2)+0"}]
    assert found["predicted"] == {"vectors": 4096, "equal": 4096}


@pytest.mark.protocols("switchml")
def test_an_unknown_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = command(tmp_path, WRONG)
    assert main(["fingerprint", target, "--ranks", "2", "--vectors", "4096"]) == 2
    printed = capsys.readouterr().out
    assert ": unknown; 2 ranks, float32\n" in printed
    assert "    rank 1      0x" in printed
    assert "    expected    0x" in printed


def test_bad_input(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for words in (["nonsense"], ["rack", "--vectors", "9"], ["command:cat {in}"], ["rack", "--set", "job.size=4kB"]):
        assert main(["fingerprint", *words]) == 64
    failing = tmp_path / "fails.sh"
    failing.write_text("#!/bin/sh\nexit 3\n", encoding="utf-8")
    failing.chmod(failing.stat().st_mode | stat.S_IXUSR)
    assert main(["fingerprint", f"command:{failing} {{in}} {{out}}", "--vectors", "4096"]) == 2
    assert "the command ended with exit code 3" in capsys.readouterr().out
