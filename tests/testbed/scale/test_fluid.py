"""Max-min fairness by its definition, and phases."""

import random

import pytest

from testbed.scale.fluid import Flow, FluidPhase, max_min_rates, phase_seconds, run_phases


def test_the_textbook_case():
    """A long flow over both links, one short flow on each."""
    flows = [Flow(("a", "b"), 1), Flow(("a",), 1), Flow(("b",), 1)]
    assert max_min_rates(flows, {"a": 10, "b": 4}) == pytest.approx([2, 8, 2])


def test_limits():
    flows = [Flow(("a",), 1, limit_bps=1), Flow(("a",), 1)]
    assert max_min_rates(flows, {"a": 10}) == pytest.approx([1, 9])


@pytest.mark.parametrize("seed", range(20))
def test_nobody_could_get_more_without_taking_it_from_one_who_has_less(seed):
    draw = random.Random(seed)
    rates = {name: draw.uniform(1, 10) for name in "abcde"}
    flows = [Flow(tuple(draw.sample("abcde", draw.randint(1, 3))), 1) for _ in range(8)]
    found = max_min_rates(flows, rates)
    load = {name: sum(r for r, f in zip(found, flows, strict=True) if name in f.links) for name in rates}
    assert all(load[name] <= rates[name] * (1 + 1e-9) for name in rates)
    for rate, flow in zip(found, flows, strict=True):
        full = [name for name in flow.links if load[name] >= rates[name] * (1 - 1e-9)]
        others = [max(r for r, f in zip(found, flows, strict=True) if name in f.links) for name in full]
        assert full
        assert min(others) <= rate * (1 + 1e-9)


def test_what_is_done_leaves_its_share_to_the_rest():
    """8 bit/s: 1 byte and 3 bytes share for 2 s, then the second has the link alone."""
    phase = FluidPhase((Flow(("a",), 1, latency_s=5), Flow(("a",), 3)))
    assert phase_seconds(phase, {"a": 8})[0] == pytest.approx(7)
    assert phase_seconds(FluidPhase((Flow(("a",), 1), Flow(("a",), 3))), {"a": 8})[0] == pytest.approx(4)


def test_phases_follow_one_another():
    outcome = run_phases([FluidPhase((Flow(("a",), 1),), 3), FluidPhase((Flow((), 0, 2.0),))], {"a": 8})
    assert (outcome.seconds, outcome.sent_bytes) == (pytest.approx(5), 3)
