"""The tutorials work by copy and paste: files are saved, commands run in order, and print what the page shows.

A block `sh` holds commands, a block `text` what the last of them prints; `...` stands for left-out lines. The comment
`# exit code N` names another exit code than 0. A comment `not run by tests` above a block says why it is left out.
Hashes of weights differ between processors: a page may show any.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[1]
_PAGES = sorted((TOP / "docs").glob("tutorial-*.md"))
_BLOCK = re.compile(
    r"(?:^`(?P<file>[\w/]+\.\w+)`:\n\n|^<!-- (?P<note>.*?) -->\n)?^```(?P<kind>\w+)\n(?P<text>.*?)^```$",
    re.DOTALL | re.MULTILINE,
)
_WEIGHTS = re.compile(r"weights ([0-9a-f]{16})")
_EXIT = re.compile(r"\s+# exit code (\d+)$")


@dataclass
class Tutorial:
    folder: Path
    limit_s: int = 280
    printed: str = ""
    """By the commands of the last block that was run."""
    ran: int = 0
    left_out: list[str] = field(default_factory=list)
    weights: list[set[str]] = field(default_factory=list)
    """hashes that each training printed"""

    def take(self, block: re.Match[str]) -> None:
        kind, text, note = block["kind"], block["text"], block["note"] or ""
        if block["file"]:
            (self.folder / block["file"]).write_text(text, encoding="utf-8")
        elif note.startswith("not run by tests: "):
            self.left_out.append(note)
        elif note.startswith("edit of "):
            self._edit(self.folder / note.removeprefix("edit of "), text)
        elif kind == "sh":
            self.run(text)
        else:
            assert kind == "text", f"nothing is done with a block {kind}"
            self._compare(text)

    def run(self, text: str) -> None:
        self.printed = "".join(self._run(line) for line in text.splitlines())

    def _run(self, line: str) -> str:
        found = _EXIT.search(line)
        command, code = (line[: found.start()], int(found[1])) if found else (line, 0)
        environment = {**os.environ, "PYTHONPATH": str(TOP), "COLUMNS": "100"}
        done = subprocess.run(
            ["sh", "-c", command], cwd=self.folder, env=environment, capture_output=True, text=True,
            timeout=self.limit_s, check=False,
        )  # fmt: skip
        assert done.returncode == code, f"{command}\n{done.stdout[-2000:]}{done.stderr[-2000:]}"
        self.ran += 1
        if hashes := set(_WEIGHTS.findall(done.stdout)):
            self.weights.append(hashes)
        return _WEIGHTS.sub("weights HASH", done.stdout) + (done.stderr if code == 64 else "")

    def _compare(self, text: str) -> None:
        rest = self.printed
        for part in _WEIGHTS.sub("weights HASH", text).split("...\n"):
            assert part.rstrip("\n") in rest, f"not printed:\n{part}\nprinted:\n{rest}"
            rest = rest.split(part.rstrip("\n"), 1)[1]

    def _edit(self, file: Path, text: str) -> None:
        old, new = (
            "".join(f"{line[1:]}\n" for line in text.splitlines() if line.startswith((" ", sign))) for sign in "-+"
        )
        before = file.read_text(encoding="utf-8")
        assert before.count(old) == 1
        file.write_text(before.replace(old, new), encoding="utf-8")


def run(name: str, folder: Path) -> Tutorial:
    (folder / "tb").write_text(f'#!/bin/sh\nexec "{sys.executable}" -P -m testbed "$@"\n', encoding="utf-8")
    (folder / "tb").chmod(0o755)
    tutorial = Tutorial(folder)
    for block in blocks(name):
        tutorial.take(block)
    return tutorial


def blocks(name: str) -> Iterator[re.Match[str]]:
    return _BLOCK.finditer((TOP / "docs" / f"tutorial-{name}.md").read_text(encoding="utf-8"))


def test_there_are_five() -> None:
    assert {page.stem for page in _PAGES} == {
        f"tutorial-{name}" for name in ("first-run", "scenario", "compare", "switch-program", "training")
    }


def test_a_first_scenario(tmp_path: Path) -> None:
    assert run("scenario", tmp_path).ran == 6
    assert (tmp_path / "lost.svg").read_text(encoding="utf-8").startswith("<svg")


@pytest.mark.minutes
def test_a_first_run(tmp_path: Path) -> None:
    tutorial = run("first-run", tmp_path)
    assert tutorial.ran == 5
    assert len(tutorial.left_out) == 1
    assert (tmp_path / "runs" / "first" / "report.html").is_file()


@pytest.mark.minutes
def test_a_comparison_gives_the_figure_of_the_page(tmp_path: Path) -> None:
    """The README shows this figure, too."""
    assert run("compare", tmp_path).ran == 2
    drawn = (tmp_path / "runs" / "loss" / "plot-jct_s.svg").read_bytes()
    assert drawn == (TOP / "docs" / "images" / "jct-against-loss.svg").read_bytes(), "copy the new one there"


@pytest.mark.minutes
@pytest.mark.timeout(600)
def test_a_switch_program_and_its_bug(tmp_path: Path) -> None:
    assert run("switch-program", tmp_path).ran == 7


@pytest.mark.minutes
@pytest.mark.timeout(600)
def test_a_training(tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="torch is not installed: the tutorial on training is not tested")
    tutorial = run("training", tmp_path)
    assert tutorial.ran == 4
    assert len(tutorial.left_out) == 1
    lossy, clean, _rounded = tutorial.weights
    assert len(lossy) == 1
    assert clean == lossy


@pytest.mark.parametrize("page", _PAGES, ids=lambda page: page.stem)
def test_every_command_of_a_tutorial_is_in_a_block_that_is_run(page: Path) -> None:
    """Other fences would not be looked at."""
    text = page.read_text(encoding="utf-8")
    assert text.count("```") == 2 * len(list(_BLOCK.finditer(text)))
    for block in _BLOCK.finditer(text):
        assert block["kind"] in ("sh", "text", "diff") or block["file"], block[0]
