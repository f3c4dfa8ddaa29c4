"""Options of a plot: from a command line and from a sweep file, and what is wrong with them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from testbed.cli import main
from testbed.sweeps import load_sweep
from testbed.sweeps.plots.options import PlotOptions
from testbed.sweeps.scenario_loader import SweepWords

GOOD = """\
name: mine
scenarios: [rack]
seeds: 2
plot: {size: 3.3x2.4in, scale: {x: log}, kind: bars, format: [pdf, png]}
"""


def test_a_file_and_a_command_line_say_the_same(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(GOOD, encoding="utf-8")
    sweep: Any = load_sweep([str(file)], SweepWords(plot={"kind": "cdf", "xlabel": "Hosts"}))
    assert sweep.plot == PlotOptions(
        xlabel="Hosts", size_in=(3.3, 2.4), scale=(("x", "log"),), formats=("pdf", "png"), kind="cdf"
    )
    words = {"size": "84mmx60mm".replace("mmx", "x"), "scale": "x:log,y:linear", "style": "acm", "format": "svg"}
    again: Any = load_sweep(["rack"], SweepWords(seeds=2, plot=words))
    assert again.plot.size_in == pytest.approx((84 / 25.4, 60 / 25.4))
    assert (again.plot.scale, again.plot.style, again.plot.formats) == (
        (("x", "log"), ("y", "linear")),
        "acm",
        ("svg",),
    )


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["--size", "3.3"], "tb: --size: plot.size: not a size; found '3.3'; allowed: WIDTHxHEIGHT with in, cm or mm"),
        (["--size", "0.1x2in"], "tb: --size: plot.size: not a size"),
        (["--size", "300x2in"], "tb: --size: plot.size: not a size"),
        (["--scale", "z:log"], "tb: --scale: plot.scale: not a scale; found 'z:log'; allowed: x:log, y:log"),
        (["--scale", "x:log,x:linear"], "tb: --scale: plot.scale: not a scale"),
        (["--scale", "x:cubic"], "tb: --scale: plot.scale: not a scale; found 'x:cubic'"),
        (["--style", "iee"], "tb: --style: plot.style: no such style; found 'iee'; allowed: plain, ieee, acm, or a"),
        (["--format", "jpg"], "tb: --format: plot.format: not a format; found 'jpg'; allowed: pdf, svg, png, pgf"),
        (["--format", "pdf,pdf"], "tb: --format: plot.format: a format stands twice"),
        (["--kind", "line"], "tb: --kind: plot.kind: no such kind; found 'line'; allowed: lines, bars, cdf, heatmap"),
        (["--title", "$\\frac{1$"], "tb: --title: plot.title: a formula that matplotlib cannot read"),
        (["--xlabel", "x" * 201], "tb: --xlabel: plot.xlabel: not a line of text"),
        (["--figures", "jtc_s"], "tb: --figures: figures[0]: no run can have this figure; found 'jtc_s'"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_before_a_run(
    words: list[str], text: str, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["sweep", "rack", "--seeds", "2", *words]) == 64
    assert capsys.readouterr().err.startswith(text)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("given", "text"),
    [("plot: 3", "plot: not a mapping; found 3"),
     ("plot: {sise: 3x2in}", "plot.sise: unknown key; allowed: xlabel, ylabel"),
     ("plot: {xlabel: [a]}", "plot.xlabel: not a line of text"), ("plot: {format: []}", "plot.format: ")],
)  # fmt: skip
def test_a_file_is_refused_with_its_line(
    given: str, text: str, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.yaml").write_text(f"name: mine\nscenarios: [rack]\nseeds: 2\n{given}\n", encoding="utf-8")
    assert main(["sweep", "mine.yaml"]) == 64
    assert f"mine.yaml:4: {text}" in capsys.readouterr().err


def test_pgf_needs_latex_and_says_so_before_a_run(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert main(["sweep", "rack", "--seeds", "2", "--format", "pgf"]) == 3
    assert "this machine lacks LaTeX" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_models_have_no_such_options(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sweep", "netreduce-scale", "--style", "ieee"]) == 64
    assert "--style: means nothing for a sweep of models" in capsys.readouterr().err
