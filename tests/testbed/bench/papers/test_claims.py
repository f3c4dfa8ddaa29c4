"""Verdicts: when a published figure is reproduced, when a direction holds, and when nothing is known."""

from __future__ import annotations

import pytest

from testbed.bench.papers.claims import (
    Bearing,
    Claim,
    Exactly,
    GainPoint,
    Grows,
    NoFigure,
    Range,
    UpTo,
    Wins,
    judged,
)


def place(*gains: float, name: str = "p") -> GainPoint:
    return GainPoint(name, gains)


@pytest.mark.parametrize(
    ("claim", "places", "standing"),
    [
        (UpTo(1.5), [place(1.1, 1.1, 1.1), place(1.4, 1.5, 1.6)], Bearing.REPRODUCED),
        (UpTo(1.5), [place(1.45, 1.46, 1.47)], Bearing.REPRODUCED),  # within 5 %
        (UpTo(1.5), [place(1.2, 1.3, 1.4)], Bearing.DIRECTION),
        (UpTo(1.5), [place(1.7, 1.8, 1.9)], Bearing.DIRECTION),  # more than published is not what was published
        (UpTo(1.5), [place(0.9, 1.3, 1.4), place(1.2, 1.2, 1.2)], Bearing.PART),
        (UpTo(1.5), [place(0.9, 0.9, 0.95)], Bearing.NOT),
        (UpTo(1.5), [place(0.9, 1.2, 1.6)], Bearing.NOT),  # an interval around 1 shows nothing
        (Range(1.06, 5.9), [place(1.2, 1.3, 1.4), place(2.0, 2.1, 2.2)], Bearing.REPRODUCED),
        (Range(1.06, 5.9), [place(1.01, 1.02, 1.1)], Bearing.DIRECTION),
        (Range(1.06, 5.9), [place(1.2, 1.3, 1.4), place(0.9, 1.0, 1.1)], Bearing.PART),
        (Range(1.06, 5.9), [place(0.8, 0.9, 1.0)], Bearing.NOT),
        (Exactly({"a": 2.4, "b": 3}), [place(2.4, 2.4, 2.4, name="a"), place(3, 3, 3, name="b")], Bearing.REPRODUCED),
        (Exactly({"a": 2.4, "b": 3}), [place(2.4, 2.4, 2.4, name="a"), place(3, 3, 3.3, name="b")], Bearing.PART),
        (Exactly({"a": 2.4}), [place(1.0, 1.0, 1.0, name="a")], Bearing.NOT),
        (Grows(), [place(1, 1, 1), place(1.2, 1.2, 1.3), place(1.4, 1.5, 1.5)], Bearing.REPRODUCED),
        (Grows(), [place(1, 1, 1), place(1.2, 1.2, 1.3), place(1.25, 1.5, 1.5)], Bearing.PART),
        (Grows(), [place(1, 1, 1), place(1, 1, 1)], Bearing.NOT),
        (Grows(), [place(1, 1, 1)], Bearing.UNKNOWN),
        (Wins(), [place(1.01, 1.2, 1.3)], Bearing.REPRODUCED),
        (Wins(), [place(1.01, 1.2, 1.3), place(1, 1, 1)], Bearing.PART),
        (NoFigure("none"), [place(1.2, 1.2, 1.2)], Bearing.UNKNOWN),
    ],
)  # fmt: skip
def test_a_standing_follows_from_the_intervals(claim: Claim, places: list[GainPoint], standing: Bearing) -> None:
    assert judged(claim, places)[0] is standing


@pytest.mark.parametrize("claim", [UpTo(1.2), Range(1, 2), Grows(), Wins()])
def test_a_place_without_enough_runs_makes_all_unknown(claim: Claim) -> None:
    standing, why = judged(claim, [place(1.2, 1.2, 1.2), place(1.2, 1.2, name="h 3")])
    assert (standing, why) == (Bearing.UNKNOWN, "too few valid runs: h 3")
    assert judged(claim, [])[0] is Bearing.UNKNOWN


def test_one_run_without_chance_is_enough() -> None:
    assert judged(UpTo(1.2), [GainPoint("p", (1.2,), exact=True)])[0] is Bearing.REPRODUCED
    assert judged(UpTo(1.2), [GainPoint("p", (1.2,))])[0] is Bearing.UNKNOWN


def test_what_contradicts_is_named() -> None:
    assert judged(UpTo(2.0), [place(1.2, 1.3, 1.4, name="a"), place(0.9, 1, 1, name="b")])[1] == (
        "better at 1 of 2 points; not at b; the best gain is 1.30, at a, not 2.00"
    )


def test_a_verdict_lists_few_of_many_places() -> None:
    places = [GainPoint(f"p{number}", (0.5,), exact=True) for number in range(9)]
    standing, why = judged(UpTo(2.0), [GainPoint("good", (1.5,), exact=True), *places])
    assert standing is Bearing.PART
    assert why.startswith("better at 1 of 10 points; not at p0, p1, p2, p3, p4, p5 and 3 more; the best gain is 1.50")
