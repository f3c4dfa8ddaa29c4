"""What commands leave on the screen, at three widths: nothing wider than the terminal, no word cut, no bar left behind,
a cursor that is seen, and the prompt on a line of its own."""

from __future__ import annotations

import contextlib
import io
import re
from collections.abc import Iterable
from pathlib import Path

import pytest

from testbed.cli.commands import COMMANDS
from testbed.cli.main import main
from testbed.protocols.esa.bench_ina.cases import cases_of
from testbed.sweeps.scenario_engine import run_scenario_sweep
from tests.support.emulated import needs_root
from tests.support.ina_runs import made_up
from tests.support.screens import Screen, on_terminal
from tests.support.selection import some_at_once

WIDTHS = (80, 120, 200)
_SMALL = ["--world", "simulated", "--set", "job.size=200kB"]
_MARKS_OF_BARS = ("━", "%|", "to go")


def check(screen: Screen, status: int) -> None:
    assert screen.status == status, screen.text
    assert not screen.cursor_hidden
    assert screen.last == "prompt>", "the prompt stands behind what the command left"
    too_long = [line for line in screen.too_long if " " in line.strip() and not line.startswith("  replay: ")]
    assert too_long == [], "but for words that are longer than a line, and commands to be copied"
    assert not any(mark in line for line in screen.lines for mark in _MARKS_OF_BARS), "a bar is left"
    assert "…" not in screen.text, "something was cut"


def assert_no_word_is_cut(screens: Iterable[Screen]) -> None:
    """Of screens that differ in nothing but their width, in what is free on the machine and in how long it took."""
    narrow, *_, wide = screens
    ago = {word for line in narrow.lines if "so far" in line for word in line.split()}
    assert {word for word in narrow.words - wide.words - ago if not re.fullmatch(r"\d+\.\d+", word)} == set()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path


@pytest.mark.parametrize(
    ("words", "status"),
    [
        (["list"], 0),
        pytest.param(["list", "scenarios"], 0, marks=pytest.mark.minutes),
        (["validate", "jobs-8"], 0),
        pytest.param(["validate", "rack"], 0, marks=pytest.mark.minutes),
        (["route", "grid-triangle"], 0),
        (["--help"], 0),
        pytest.param(["bench", "--help"], 0, marks=pytest.mark.minutes),
        (["bench", "ina", "--jobs", "1", "--emulated", "--repeats", "0"], 64),
        (["bench", "nothing"], 64),
        pytest.param(["lab", "run"], 64, marks=pytest.mark.minutes),
        (["run", "no-such-scenario-at-all"], 64),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_is_told_at_once(words: list[str], status: int, folder: Path) -> None:
    screens = [on_terminal(words, width, cwd=folder) for width in WIDTHS]
    for screen in screens:
        check(screen, status)
    assert_no_word_is_cut(screens)


@pytest.mark.protocols("esa", "grid")
def test_scenarios_are_listed_in_whole_sentences(folder: Path) -> None:
    screen = on_terminal(["list", "scenarios"], 80, cwd=folder)
    told = " ".join(screen.text.split())
    assert "sends a complete sum to the workers itself and frees the slot at once, and gives" in told
    entry = told.partition(" grid-atp ")[2].partition(" grid-geryon ")[0]
    assert entry.endswith("every worker's gradients are aggregated at its own switch."), "one sentence, and all of it"


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("command", COMMANDS)
def test_help_fits(command: str, width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        assert main([command, "--help"]) == 0
    lines = out.getvalue().splitlines()
    assert [line for line in lines if len(line) > min(width, 110)] == []
    assert len(lines) > 5


def test_a_run_that_passes(folder: Path) -> None:
    screens = list[Screen]()
    for width in WIDTHS:
        screen = on_terminal(["run", "rack-lossy", *_SMALL, "--out", f"run{width:03}"], width, cwd=folder)
        check(screen, 0)
        assert any("Verdict: PASS" in line for line in screen.lines)
        screens.append(screen)
    texts = [" ".join(screen.text.replace(f"run{screen.columns:03}", "run").split()) for screen in screens]
    assert texts[0] == texts[1] == texts[2], "the width changes where lines end, and nothing else"


@pytest.mark.parametrize("width", WIDTHS)
def test_a_run_that_fails(width: int, folder: Path) -> None:
    screen = on_terminal(["run", "dead-link", "--world", "simulated"], width, cwd=folder)
    check(screen, 1)
    assert any("Verdict: FAIL" in line for line in screen.lines)


@pytest.mark.parametrize("width", WIDTHS)
def test_a_run_that_is_interrupted(width: int, folder: Path) -> None:
    words = ["run", "rack-lossy", "--world", "simulated", "--set", "job.size=100MB", "--set", "time_limit=1000s"]
    screen = on_terminal(words, width, cwd=folder, press_after=lambda text: "hits for the first time" in text)
    check(screen, 130)
    assert screen.lines[-1] == "tb: interrupted"
    assert not any("^C" in line for line in screen.lines[:-2])


@pytest.mark.parametrize("width", WIDTHS)
def test_a_hunt(width: int, folder: Path) -> None:
    screen = on_terminal(["hunt", "--schedules", "20"], width, cwd=folder)
    check(screen, 0)
    assert "Verdict: PASS      no schedule broke a rule" in screen.lines


def test_a_timeline_and_a_replay(folder: Path) -> None:
    made = on_terminal(["run", "dead-link", "--world", "simulated", "--out", "run"], 80, cwd=folder)
    check(made, 1)
    for width in WIDTHS:
        drawn = on_terminal(["timeline", "run"], width, cwd=folder)
        check(drawn, 0)
        lanes = [line for line in drawn.lines if line.startswith("h1 -> h2  ")]
        assert [len(line) for line in lanes] == [width], "lanes take the whole width"
    again = on_terminal(["replay", "run", "--out", "again"], 80, cwd=folder)
    check(again, 1)


def test_the_comparison_of_protocols(folder: Path) -> None:
    """Its runs are there already: made-up ones."""
    [case] = cases_of(quick=True)
    compute = made_up(
        lambda point: 1 - len(point.values["variant"]) / 100, [], collisions=12_345, server_bytes=7_220_000
    )
    runs = folder / "runs" / "bench-ina" / case.sweep.name
    run_scenario_sweep(case.sweep, runs, compute(1, None), lambda done, total, reused: None)
    screens = [on_terminal(["bench", "ina", "--quick", "--csv", "ina.csv"], width, cwd=folder) for width in WIDTHS]
    for screen in screens:
        check(screen, 1)
    assert_no_word_is_cut(screens)
    assert any("12,345" in line for line in screens[0].lines)


@pytest.mark.parametrize("width", [80, 200])
def test_what_this_machine_can_do(width: int, folder: Path) -> None:
    check(on_terminal(["doctor"], width, cwd=folder), 0)


@pytest.mark.parametrize(
    "command",
    some_at_once(
        [["run", "rack", "--set", "job.size=100kB"], ["demo", "--hosts", "2"]],
        late=[["demo", "--hosts", "2"]],
    ),
    ids=" ".join,
)
class TestEmulated:
    pytestmark = [*needs_root, pytest.mark.mininet]

    def test_at_three_widths(self, command: list[str], folder: Path) -> None:
        pytest.importorskip("mininet")
        for width in WIDTHS:
            screen = on_terminal(command, width, cwd=folder, timeout_s=150)
            assert screen.status in (0, 2), "a busy machine may make it unknown"
            check(screen, screen.status)

    def test_interrupted(self, command: list[str], folder: Path) -> None:
        pytest.importorskip("mininet")
        screen = on_terminal(
            command, 80, cwd=folder, press_after=lambda text: "the traffic starts" in text, timeout_s=150
        )
        if command[0] == "run" and screen.status == 0:
            pytest.skip("it was through before the key was pressed")
        check(screen, 130)


def test_what_is_no_terminal_has_80_columns_unless_told(monkeypatch: pytest.MonkeyPatch) -> None:
    for told, width in ((None, 80), ("132", 110), ("60", 60), ("no number", 80), ("0", 80)):
        monkeypatch.delenv("COLUMNS", raising=False) if told is None else monkeypatch.setenv("COLUMNS", told)
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            assert main(["list", "scenarios"]) == 0
        longest = max(len(line) for line in out.getvalue().splitlines())
        assert width - 12 < longest <= width, told
