"""The sufficient condition, against brute force with the cost formulas themselves."""

import itertools
import math
from dataclasses import replace

import pytest

from workloads.costs import EqualMachines, machine_cost, state_condition, threshold_ratio

FR, PN = machine_cost("FR").seconds, machine_cost("PN").seconds
INTER = 100e9


def machines(gpus, per_machine, ratio, alpha_s, inner=0.0, switch=None):
    return EqualMachines(gpus, per_machine, INTER, ratio * INTER, alpha_s, inner, switch)


@pytest.mark.parametrize(("gpus", "ratio"), [(32, 1.867), (128, 1.778), (512, 1.757), (1024, 1.753)])
def test_thresholds_of_the_text(gpus, ratio):
    assert threshold_ratio(gpus, 8) == pytest.approx(ratio, abs=0.0005)


@pytest.mark.parametrize(
    ("gpus", "alpha_us"), [(32, 60.2), (128, 12.8), (512, 3.08), (1024, 1.53)]
)  # B_intra 15.75 GB/s, B_inter 12.5 GB/s, 100 MB
def test_crossovers_of_the_text(gpus, alpha_us):
    stated = state_condition(machines(gpus, 8, 15.75 / 12.5, 1e-6), 100e6)
    assert stated.crossover_alpha_s * 1e6 == pytest.approx(alpha_us, rel=0.004)
    assert not stated.always


def test_there_is_no_crossover_above_the_threshold():
    for ratio in (2, 4, 8):
        stated = state_condition(machines(32, 8, ratio, 1e-6), 100e6)
        assert stated.always
        assert stated.wins
        assert stated.crossover_alpha_s is None


@pytest.mark.parametrize("per_machine", [2, 4, 8])
@pytest.mark.parametrize("machine_count", [2, 3, 16, 1024])
def test_around_the_threshold_by_brute_force(per_machine, machine_count):
    gpus = per_machine * machine_count
    threshold = threshold_ratio(gpus, per_machine)
    sizes, alphas = (1.0, 1e3, 1e6, 1e9, 1e15), (1e-9, 1e-6, 1e-3)
    for off, alpha_s in itertools.product((-1e-3, 1e-3), alphas):
        place = machines(gpus, per_machine, threshold * (1 + off), alpha_s)
        wins = [PN(place, size) < FR(place, size) for size in sizes]
        stated = state_condition(place, 1e6)
        assert stated.always == all(wins) == (off > 0)
        for size, won in zip(sizes, wins, strict=True):
            assert state_condition(place, size).wins == won


def test_latency_alone_can_break_the_condition():
    """Aggregation that takes longer than all hops of the ring: a byte is cheaper, small gradients lose."""
    place = machines(16, 8, 4, 1e-6, switch=1e-3)
    stated = state_condition(place, 1.0)
    assert not stated.saves_latency
    assert not stated.always
    assert not stated.wins
    assert PN(place, 1.0) > FR(place, 1.0)
    size = stated.crossover_size_bytes
    assert PN(place, size) == pytest.approx(FR(place, size), rel=1e-9)
    assert PN(place, 2 * size) < FR(place, 2 * size)


@pytest.mark.parametrize("inner", [0.0, 2e-6])
@pytest.mark.parametrize("switch", [None, 5e-6])
@pytest.mark.parametrize("ratio", [1.0, 1.26, 1.7])
def test_the_crossovers_are_where_both_are_equal(ratio, switch, inner):
    place, size = machines(64, 8, ratio, 20e-6, inner, switch), 50e6
    stated = state_condition(place, size)
    for factor, winner in ((0.99, FR), (1.01, PN)):
        other = PN if winner is FR else FR
        near = replace(place, alpha_s=stated.crossover_alpha_s * factor)
        assert winner(near, size) < other(near, size)
        near = replace(place, intra_bps=stated.crossover_ratio * INTER * factor)
        assert winner(near, size) < other(near, size)
        smaller = stated.crossover_size_bytes / factor
        assert winner(place, smaller) < other(place, smaller)


def test_two_gpus_never_meet_the_condition():
    assert threshold_ratio(2, 1) == math.inf
    stated = state_condition(EqualMachines(2, 1, INTER, INTER, 1e-6), 1e6)
    assert not stated.always
    assert not stated.wins


def test_it_can_be_read():
    assert str(state_condition(machines(32, 8, 2, 1e-6), 100e6)) == (
        "B_intra/B_inter 2 is above the threshold 1.867 and latency is saved: PN beats FR for every size"
    )
    assert str(state_condition(machines(32, 8, 1.26, 1e-6), 100e6)) == (
        "B_intra/B_inter 1.26 is not above the threshold 1.867; PN does not beat FR for this size, equal at alpha* = "
        "60.19 us, equal at M* = 1.662e+06 B"
    )
