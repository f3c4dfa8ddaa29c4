from __future__ import annotations

import math
from dataclasses import replace

import pytest

from testbed.protocols.esa.bench_ina.analysis import (
    best_split,
    cells_of,
    crossings,
    gain,
    order_margin,
    split_at,
    widest,
)
from testbed.protocols.esa.bench_ina.cases import ATP, ESA, ESA_ACK, ESA_EQUAL, SWITCHML
from tests.support.ina_runs import cell, finished, grid, outcome
from tests.testbed.protocols.esa.bench_ina.test_bench import small_case

pytestmark = pytest.mark.protocols("switchml")


def test_a_gain_compares_runs_of_one_seed() -> None:
    """Not medians with medians: those are 4 and 2 here."""
    assert gain(cell(ATP, 8, 3.0, 4.0, 8.0), cell(ESA, 8, 1.0, 4.0, 2.0)) == 3.0


def test_cells_hold_the_seeds_of_one_mix() -> None:
    case = small_case()
    case = replace(case, sweep=replace(case.sweep, seeds=(1, 2, 3)))
    times = {ATP: (3.0, 1.0, 2.0)}
    cells = cells_of(finished(case, lambda name, memory, point: outcome(times.get(name, (1.0,) * 3)[point.seed - 1])))
    assert set(cells) == {(8, name) for name in case.subjects}
    assert (cells[8, ATP].jct_s, cells[8, ATP].spread) == (2.0, 1.0)
    assert [run.average_jct_s for run in cells[8, ATP].runs] == [3.0, 1.0, 2.0]


@pytest.mark.parametrize(
    ("esa", "atp", "switchml", "margin"),
    [
        ((1.0, 1.0), (2.0, 2.0), (3.0, 5.0), 1.5),
        ((1.0, 2.5), (2.0, 2.0), (3.0, 5.0), 0.8),
        ((1.0, 1.0), (2.0, 2.0), (3.0, 1.0), 0.5),
    ],
)
def test_an_order_holds_when_it_does_in_every_seed(
    esa: tuple[float, ...], atp: tuple[float, ...], switchml: tuple[float, ...], margin: float
) -> None:
    times = {ESA: esa, ATP: atp, SWITCHML: switchml}
    cells = {(8, subject): cell(subject, 8, *jcts) for subject, jcts in times.items()}
    assert order_margin(cells, 8) == margin


def test_agreement_is_of_the_extremes() -> None:
    cells = grid({ESA: [1.0], ATP: [1.04], SWITCHML: [1.01]}, [960])
    assert widest(cells, 960) == 1.04


def test_a_crossing_is_where_the_line_between_two_sizes_meets_one() -> None:
    """A quarter of the logarithms' way: 4^1/4 times."""
    cells = grid({ATP: [1.0, 8.0], SWITCHML: [2.0, 1.0]}, [8, 32])
    (found,) = crossings(cells, ATP, SWITCHML)
    assert (found.before, found.after) == (ATP, SWITCHML)
    assert found.memory == pytest.approx(8 * 4**0.25)
    assert (found.low, found.high) == (8, 32)
    assert crossings(cells, SWITCHML, ATP) == [found]


def test_between_sizes_that_are_far_apart_no_line_is_drawn() -> None:
    cells = grid({ATP: [1.0, 8.0], SWITCHML: [2.0, 1.0]}, [8, 33])
    assert [(found.memory, found.low, found.high) for found in crossings(cells, ATP, SWITCHML)] == [(None, 8, 33)]


def test_from_ahead_to_level_and_on_to_behind() -> None:
    cells = grid({ATP: [1.0, 1.0, 1.1], SWITCHML: [1.1, 1.005, 1.0]}, [8, 16, 32])
    found = crossings(cells, ATP, SWITCHML)
    assert [(item.before, item.after) for item in found] == [(ATP, None), (None, SWITCHML)]
    logs = [math.log(value) for value in (1.1, 1.005, 1 / 1.1)]
    level = math.log(1.01)
    assert found[0].memory == pytest.approx(8 * 2 ** ((logs[0] - level) / (logs[0] - logs[1])))
    assert found[1].memory == pytest.approx(16 * 2 ** ((logs[1] + level) / (logs[1] - logs[2])))


def test_level_is_reached_from_where_one_came_also_when_the_other_is_a_bit_ahead_there() -> None:
    cells = grid({ATP: [1.0, 1.005], SWITCHML: [1.1, 1.0]}, [8, 16])
    (found,) = crossings(cells, ATP, SWITCHML)
    there, level = math.log(1 / 1.005), math.log(1.01)
    assert found.memory == pytest.approx(8 * 2 ** ((math.log(1.1) - level) / (math.log(1.1) - there)))


def test_no_crossing_where_nothing_changes() -> None:
    assert crossings(grid({ATP: [1.0, 1.0], ESA: [0.9, 0.5]}, [8, 16]), ESA, ATP) == []
    assert crossings(grid({ATP: [1.0, 1.0], ESA: [1.009, 0.991]}, [8, 16]), ESA, ATP) == []


def test_the_split_of_a_gain_adds_up() -> None:
    """2.0 = 1.6 early x 1.25 on top of it = 1.1 priorities x 1.818 on top of them."""
    cells = grid({ATP: [2.0], ESA: [1.0], ESA_EQUAL: [1.25], ESA_ACK: [2.0 / 1.1]}, [8])
    split = split_at(cells, 8)
    assert (split.gain, split.early, split.priority) == pytest.approx((2.0, 1.6, 1.1))
    assert split.early_share == pytest.approx((math.log(1.6) + math.log(2.0 / 1.1)) / 2 / math.log(2.0))


def test_each_mechanism_alone_has_the_whole_gain_when_the_other_one_gives_nothing() -> None:
    early = split_at(grid({ATP: [2.0], ESA: [1.0], ESA_EQUAL: [1.0], ESA_ACK: [2.0]}, [8]), 8)
    assert early.early_share == pytest.approx(1.0)
    order = split_at(grid({ATP: [2.0], ESA: [1.0], ESA_EQUAL: [2.0], ESA_ACK: [1.0]}, [8]), 8)
    assert order.early_share == pytest.approx(0.0)
    none = split_at(grid({ATP: [1.0], ESA: [1.0], ESA_EQUAL: [1.0], ESA_ACK: [1.0]}, [8]), 8)
    assert none.early_share is None


def test_the_best_gain_is_over_all_sizes() -> None:
    cells = grid({ATP: [1.5, 2.0, 1.1], ESA: [1.0] * 3, ESA_EQUAL: [1.0] * 3, ESA_ACK: [1.0] * 3}, [8, 16, 32])
    assert best_split(cells, [8, 16, 32]).memory == 16
