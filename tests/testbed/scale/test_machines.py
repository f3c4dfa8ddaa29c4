"""FR, TA and PN executed: against the formulas, and one machine that stands for all against all of them."""

import itertools

import numpy as np
import pytest

from testbed.scale.machine_messages import MessageWindow, machine_message_level, ring_steps
from testbed.scale.machine_streams import machine_flow_level
from workloads.costs import MACHINE_COSTS, EqualMachines, machine_cost

GB = 8e9
GRID = list(itertools.product([15.75, 25, 50, 100], [32, 128, 512, 1024], [1e-7, 1e-6, 1e-5, 1e-4], [10**6, 10**8]))


def machines(intra, gpus, alpha, **more):
    return EqualMachines(gpus, 8, 12.5 * GB, intra * GB, alpha, **more)


@pytest.mark.parametrize("algorithm", MACHINE_COSTS)
def test_the_flow_level_agrees_with_the_formulas_on_the_grid_of_the_paper(algorithm):
    for intra, gpus, alpha, size in GRID:
        place = machines(intra, gpus, alpha, inner_alpha_s=alpha / 10)
        expected = machine_cost(algorithm).seconds(place, size)
        assert machine_flow_level(algorithm, place, size).seconds == pytest.approx(expected, rel=0.05)


@pytest.mark.parametrize("algorithm", ["TA", "PN"])
def test_the_message_level_agrees_with_the_formulas_on_the_grid_of_the_paper(algorithm):
    for intra, gpus, alpha, size in GRID:
        place = machines(intra, gpus, alpha)
        expected = machine_cost(algorithm).seconds(place, size)
        assert machine_message_level(algorithm, place, size).seconds == pytest.approx(expected, rel=0.05)


def test_a_flat_ring_of_messages_agrees_where_all_hops_are_alike_and_is_faster_where_some_are():
    """Without barriers the fast hops inside machines make up for waiting at the slow ones."""
    for gpus, alpha, size in itertools.product([32, 128, 512], [1e-7, 1e-6, 1e-5, 1e-4], [10**6, 10**8]):
        expected = machine_cost("FR").seconds(machines(12.5, gpus, alpha), size)
        alike = machine_message_level("FR", machines(12.5, gpus, alpha), size).seconds
        fast = machine_message_level("FR", machines(50, gpus, alpha), size).seconds
        assert alike == pytest.approx(expected, rel=0.05)
        assert 0.5 * expected < fast < alike


@pytest.mark.parametrize("level", [machine_flow_level, machine_message_level])
@pytest.mark.parametrize("algorithm", MACHINE_COSTS)
@pytest.mark.parametrize(("gpus", "alpha", "inner"), [(16, 1e-6, 0), (32, 1e-5, 1e-6), (64, 1e-4, 1e-5)])
def test_one_machine_stands_for_all(level, algorithm, gpus, alpha, inner):
    place = machines(20, gpus, alpha, inner_alpha_s=inner)
    one, full = level(algorithm, place, 10**7), level(algorithm, place, 10**7, representatives=None)
    assert one.seconds == pytest.approx(full.seconds, rel=1e-9)
    assert one.packet_hops == full.packet_hops
    assert one.events <= full.events


def test_a_window_that_is_too_small_shows_where_the_formula_does_not_look():
    place = machines(50, 64, 1e-4)
    small, large = (machine_message_level("PN", place, 10**8, MessageWindow(n, 16)).seconds for n in (1, 64))
    assert large == pytest.approx(machine_cost("PN").seconds(place, 10**8), rel=0.05)
    assert small > 5 * large


def test_few_ranks_step_as_many_do():
    """The two ways of `ring_steps`: lists for few ranks, arrays for many."""
    draw = np.random.default_rng(1)
    ready, cost, late = draw.random(8), draw.random(8), draw.random(8)
    few = ring_steps(ready, 2.0, 50, cost, late, 8)
    many = ring_steps(np.tile(ready, 4), 2.0, 50, np.tile(cost, 4), np.tile(late, 4), 8)
    assert np.allclose(np.tile(few, 4), many)


def test_65536_gpus_at_the_message_level():
    outcome = machine_message_level("FR", machines(12.5, 65536, 1e-6), 10**8)
    assert outcome.seconds == pytest.approx(machine_cost("FR").seconds(machines(12.5, 65536, 1e-6), 10**8), rel=0.05)
