"""The planner `goat`: what `tb route` and `routing.planner` get of a placement of sub-models."""

from __future__ import annotations

import numpy as np
import pytest

from topologies import LinkShape, grid_triangle
from topologies.routing.gradients import Problem, goat, make_plan, violations

_G = 1_000_000_000
EXAMPLE = Problem.of(
    grid_triangle(LinkShape(rate_bps=3 * _G), LinkShape(rate_bps=9 * _G)),
    ("ps",),
    dict.fromkeys(("s1", "s2", "s3"), 9e9),
)


def test_every_switch_sums_a_part_of_everybodys_gradient() -> None:
    plan = make_plan(EXAMPLE, "goat", np.random.default_rng(1))
    assert violations(plan) == ()
    assert plan.min_rate_bps == pytest.approx(1.8 * _G)
    assert plan.load_bps("s1->s3") == pytest.approx(3 * _G), "the link that binds"
    assert {(stream.node, round(stream.rate_bps)) for stream in plan.streams} == {
        ("s1", 600_000_000), ("s2", 600_000_000), ("s3", 600_000_000)
    }  # fmt: skip
    assert plan.note == "3 equal sub-models, exact"


def test_where_the_integer_program_would_be_large_its_relaxation_is_rounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(goat, "_EXACT_CHOICES", 71)
    plan = make_plan(EXAMPLE, "goat", np.random.default_rng(1))
    assert violations(plan) == ()
    assert plan.note == "3 equal sub-models, rounded"


def test_a_network_that_is_too_large_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(goat, "_MOST_CHOICES", 71)
    with pytest.raises(
        ValueError, match=r"^planner goat: 72 choices of worker, sub-model and switch are too many \(at most 71\)$"
    ):
        make_plan(EXAMPLE, "goat", np.random.default_rng(1))
