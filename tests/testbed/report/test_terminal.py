"""Golden summaries: what a newcomer reads."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest

from testbed.report.terminal import plain_summary, print_summary
from tests.support.results import failing_context, lossy_context, result_of

GOLDEN = Path(__file__).parent / "golden"


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture(autouse=True)
def colors(monkeypatch):
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "140")


def test_passing_run(tmp_path, monkeypatch):
    result = result_of(lossy_context(tmp_path), monkeypatch)
    assert plain_summary(result) == (GOLDEN / "passing.txt").read_text()


def test_failing_run(monkeypatch):
    result = result_of(failing_context(), monkeypatch)
    text = plain_summary(result)
    assert text == (GOLDEN / "failing.txt").read_text()
    assert "replay: tb run small --seed 3" in text


def test_idle_fault(tmp_path, monkeypatch):
    context = lossy_context(tmp_path)
    context.history[:] = [record for record in context.history if record.get("fault") != "flap"]
    text = plain_summary(result_of(context, monkeypatch))
    assert text == (GOLDEN / "unknown.txt").read_text()


@pytest.mark.parametrize(
    ("backend", "strikes", "text"),
    [
        ("user", 2, "struck 2 times (h1-s1 2x)"),
        ("ebpf", 2, "struck 2 times by eBPF in the kernel (h1-s1 2x)"),
        ("netem", 0, "carried out by netem in the kernel, which tells no strike"),
    ],
)
def test_what_the_kernel_did_is_said(tmp_path, monkeypatch, backend, strikes, text):
    result = result_of(lossy_context(tmp_path), monkeypatch)
    result["faults"] = [
        {"name": "torn", "kind": "loss", "strikes": strikes, "backend": backend,
         "targets": {"h1-s1": strikes} if strikes else {}},
    ]  # fmt: skip
    assert f"  torn  {text}\n" in plain_summary(result)


@pytest.mark.parametrize("width", [60, 200])
def test_width(monkeypatch, width):
    text = plain_summary(result_of(failing_context(), monkeypatch), width)
    assert max(len(line) for line in text.splitlines()) <= max(width, 70)


def test_colour_changes_nothing_but_colour(monkeypatch):
    result = result_of(failing_context(), monkeypatch)
    stream = Terminal()
    print_summary(result, stream)
    colored = stream.getvalue()
    assert "\x1b[" in colored
    bare = re.sub(r"\x1b\[[0-9;]*m", "", colored)
    assert [line.rstrip() for line in bare.splitlines()] == plain_summary(result).splitlines()


@pytest.mark.parametrize("how", ["flag", "variable", "dumb", "pipe"])
def test_no_colour(monkeypatch, how):
    result = result_of(failing_context(), monkeypatch)
    stream = io.StringIO() if how == "pipe" else Terminal()
    if how == "variable":
        monkeypatch.setenv("NO_COLOR", "1")
    if how == "dumb":
        monkeypatch.setenv("TERM", "dumb")
    print_summary(result, stream, no_color=how == "flag")
    assert stream.getvalue() == plain_summary(result)
