"""`tb bundle`: where an archive may be put, and what is printed."""

from __future__ import annotations

import os
import zipfile
from pathlib import Path

import pytest

import testbed as tb
from testbed.cli import main

REFUSED = 64


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    top = tmp_path_factory.mktemp("bundle")
    return tb.run("rack", set={"job.size": "8kB", "job.iterations": 1}, world="simulated", out=top / "run").run_dir


def test_an_archive_says_how_it_is_repeated(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "a.zip"
    assert main(["bundle", str(run), "-o", str(out)]) == 0
    printed = capsys.readouterr().out
    assert "a.zip: 1 run, " in printed
    assert "python3 artifact/repeat.py CHECKOUT" in " ".join(printed.split())
    assert zipfile.is_zipfile(out)
    assert main(["bundle", str(run), "-o", str(tmp_path / "b.zip"), "--quiet"]) == 0
    assert capsys.readouterr().out == ""
    assert (tmp_path / "b.zip").read_bytes() == out.read_bytes()


def test_an_archive_is_replaced_with_force_only(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "a.zip"
    out.write_text("mine", encoding="utf-8")
    assert main(["bundle", str(run), "-o", str(out)]) == REFUSED
    assert "--out: exists already; " in " ".join(capsys.readouterr().err.split())
    assert out.read_text(encoding="utf-8") == "mine"
    assert main(["bundle", str(run), "-o", str(out), "--force"]) == 0
    assert zipfile.is_zipfile(out)


@pytest.mark.parametrize(
    ("kind", "found"), [("link", "a link"), ("folder", "a folder"), ("pipe", "another kind of file")]
)
def test_places_that_are_no_plain_file(
    kind: str, found: str, run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    {"link": lambda: out.symlink_to(tmp_path / "x"), "folder": out.mkdir, "pipe": lambda: os.mkfifo(out)}[kind]()
    assert main(["bundle", str(run), "-o", str(out), "--force"]) == REFUSED
    assert f"{found}; allowed: a new file" in " ".join(capsys.readouterr().err.split())
    assert not (tmp_path / "x").exists()


def test_a_folder_that_is_not_there(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bundle", str(run), "-o", str(tmp_path / "no" / "a.zip")]) == REFUSED
    assert "cannot be written" in capsys.readouterr().err
    assert main(["bundle", str(tmp_path), "-o", str(tmp_path / "a.zip")]) == REFUSED
    assert "is neither a finished run nor a sweep" in " ".join(capsys.readouterr().err.split())
    assert not (tmp_path / "a.zip").exists()
