"""No two texts of a plot overlap and none is cut, whatever is drawn: the boxes are measured here on their own."""

from __future__ import annotations

import random
from collections.abc import Mapping
from itertools import combinations
from typing import Any

import matplotlib as mpl
import pytest
from matplotlib.text import Text

from testbed.sweeps.plots.build import pictures_of
from testbed.sweeps.plots.fit import fitted
from testbed.sweeps.plots.options import PlotOptions
from testbed.sweeps.plots.styles import read_style
from testbed.sweeps.scenario_model import Outcome
from tests.support.sweeps import made_up
from workloads.errors import ScenarioError

SHORT = ("netreduce", "switchml", "atp", "esa", "ring", "ps", "dlcp", "tree")
LONG = tuple(f"{name} with a long description of its options" for name in SHORT)
LINEAR = tuple(f"{number}%" for number in range(2, 14))
LOG = (0, "0.1%", "0.2%", "0.3%", "0.5%", "1%", "2%", "3%", "5%", "10%", "20%", "50%")
CASES = [
    (kind, style, protocols, places, labels, values)
    for kind in ("lines", "bars", "cdf", "heatmap")
    for style in ("ieee", "acm")
    for protocols in (2, 5, 8)
    for places in (1, 4, 12)
    for labels in (SHORT, LONG)
    for values in (LINEAR, LOG)
    if not (kind == "heatmap" and places == 1)
]


def _drawn_lots() -> list[Any]:
    """Some for each change, all the others once in a while."""
    lots = random.Random(4).sample(CASES, len(CASES))
    few = [case for case in lots if case[0] != "cdf" or case[3] < 12][:10]
    return [*few, *(pytest.param(*case, marks=pytest.mark.minutes) for case in lots if case not in few)]


def boxes(figure: Any) -> list[tuple[str, Any]]:
    """Of all texts that are drawn."""
    figure.draw_without_rendering()
    texts = [text for text in figure.findobj(Text) if text.get_visible() and text.get_text().strip()]
    return [(text.get_text(), text.get_window_extent()) for text in texts]


def clashes(figure: Any) -> list[str]:
    found = []
    for name, box in boxes(figure):
        if box.x0 < -1 or box.y0 < -1 or box.x1 > figure.bbox.x1 + 1 or box.y1 > figure.bbox.y1 + 1:
            found.append(f"{name} is cut")
    for (one, first), (other, second) in combinations(boxes(figure), 2):
        if (min(first.x1, second.x1) - max(first.x0, second.x0) > 1
                and min(first.y1, second.y1) - max(first.y0, second.y0) > 1):  # fmt: skip
            found.append(f"{one} on {other}")
    return found


def outcome(labels: Mapping[str, Any], seed: int) -> Outcome | float:
    dice = random.Random(repr((labels, seed)))
    if dice.random() < 0.05:
        return Outcome(*dice.choice([("invalid", ""), ("failed", ""), ("done", "fail")]))
    return 10.0 ** dice.uniform(-2, 0)


@pytest.mark.parametrize(("kind", "style", "protocols", "places", "labels", "values"), _drawn_lots())
def test_no_two_texts_overlap(
    kind: str, style: str, protocols: int, places: int, labels: tuple[str, ...], values: tuple[Any, ...]
) -> None:
    finished = made_up(outcome, variants=labels[:protocols], axes={"faults.loss.rate": values[:places]}, seeds=3)
    options = PlotOptions(style=style, kind=kind)
    with mpl.rc_context(dict(read_style(style).rc)):
        for picture in pictures_of(finished, "jct_s", options):
            try:
                figure, _ = fitted(picture, read_style(style))
            except ScenarioError:  # a column is too narrow for some: they are refused, and make no picture with a clash
                assert (protocols == 8 and labels is LONG) or (kind == "heatmap" and places == 12)
                return
            assert clashes(figure) == []
            assert figure.get_size_inches()[0] == read_style(style).width_in


def test_the_measure_sees_a_clash() -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(2, 2))
    figure.text(0.5, 0.5, "one")
    figure.text(0.5, 0.52, "two")
    figure.text(0.9, 0.1, "out of the picture")
    assert sorted(clashes(figure)) == ["one on two", "out of the picture is cut"]


def test_words_of_an_axis_stay_and_numbers_without_room_leave_a_tick() -> None:
    many = [f"{number / 10:g}%" for number in range(1, 41)]
    finished = made_up(outcome, variants=SHORT[:2], axes={"faults.loss.rate": many}, seeds=1)
    with mpl.rc_context(dict(read_style("ieee").rc)):
        (picture,) = pictures_of(finished, "jct_s", PlotOptions(style="ieee"))
        _, shown = fitted(picture, read_style("ieee"))
    labels = [label for _, label in shown.x.ticks]
    assert len(labels) == 40
    assert 5 < sum(map(bool, labels)) < 30
    assert labels[0] == "0.1"
    assert labels[-1] == "4"
