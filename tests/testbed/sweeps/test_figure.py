"""Plots of many series: each told apart, and all their names inside the picture."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib as mpl
import pytest

from testbed.sweeps import figure
from testbed.sweeps.scenario_engine import FinishedScenarios
from testbed.sweeps.scenario_grid import make_points
from testbed.sweeps.scenario_model import Outcome, ScenarioSweep, Variant

SERIES = 11


def finished(told: int = SERIES, jct: Callable[[int], float] = lambda number: 1.0 + number) -> FinishedScenarios:
    """`told`: how many series tell packets sent again; all tell a JCT."""
    variants = tuple(Variant(f"a protocol, number {number}") for number in range(SERIES))
    sweep = ScenarioSweep(
        "many", "many series", ("rack-lossy",), variants, (("faults.loss.rate", (0.01, 0.02)),), (1,), ("simulated",),
        figures=("jct_s", "retransmissions.packets"),
    )  # fmt: skip
    points = tuple(make_points(sweep))
    labels = [variant.label for variant in variants]
    outcomes = []
    for point in points:
        number = labels.index(point.values[sweep.variant_name])
        again = {"retransmissions.packets": number} if number < told else {}
        outcomes.append(Outcome("done", "pass", {"jct_s": jct(number), **again}))
    return FinishedScenarios(sweep, points, tuple(outcomes), tuple("x" for _ in points), 0, 0, "code", Path())


@pytest.fixture
def drawing() -> Any:
    with mpl.rc_context(figure._STYLE):
        drawn = figure._drawn(finished(), "jct_s")
        drawn.canvas.draw()
        return drawn


def test_no_two_series_look_alike(drawing: Any) -> None:
    [area] = drawing.axes
    lines = [container.lines[0] for container in area.containers]
    looks = {(line.get_color(), line.get_marker(), line.get_linestyle()) for line in lines}
    assert len(looks) == len(lines) == SERIES


def test_the_legend_is_inside_the_picture(drawing: Any) -> None:
    [legend] = drawing.legends
    box = legend.get_window_extent()
    assert box.x0 >= 0
    assert box.x1 <= drawing.bbox.x1


def test_each_figure_of_a_wide_axis_has_its_unit() -> None:
    with mpl.rc_context(figure._STYLE):
        drawn = figure._drawn(finished(jct=lambda number: 0.02 * 1.38**number), "jct_s")
        drawn.canvas.draw()
        [area] = drawn.axes
        ticks = [*area.get_yticklabels(), *area.get_yticklabels(minor=True)]
    labels = [tick.get_text() for tick in ticks if tick.get_text()]
    assert area.get_yscale() == "log"
    assert len(labels) >= 4
    assert all(label.endswith((" s", " ms")) for label in labels), labels


def test_a_missing_figure_is_told_where_it_is_missing(tmp_path: Path) -> None:
    written = {
        path.name: path.read_text(encoding="utf-8")
        for path in figure.write_plots(finished(3), tmp_path)
        if path.suffix == ".svg"
    }
    assert "no valid run" not in written["plot-jct_s.svg"]
    assert "no valid run" in written["plot-retransmissions.packets.svg"]
