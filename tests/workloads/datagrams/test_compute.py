"""When gradients are ready, by hand."""

from dataclasses import replace
from itertools import combinations, pairwise

import pytest

from workloads.datagrams.compute import LayerCompute
from workloads.layers import ComputeConfig, LayerConfig

LAYERS = (LayerConfig(10, 1, 100), LayerConfig(20, 2, 200), LayerConfig(30, 4, 400))
"""the gradient holds 30, 20, 10 elements"""
CONFIG = ComputeConfig(LAYERS)


def compute(config: ComputeConfig = CONFIG, rank: int = 0, seed: int = 1) -> LayerCompute:
    return LayerCompute(config, seed, rank)


def test_forward_then_backward_the_last_layer_first():
    passes = compute().passes(0, 0)
    assert (passes.forward_at, passes.backward_at) == (0, 7)
    assert passes.ready == ((407, 30), (607, 50), (707, 60))


def test_a_layer_waits_for_its_result_and_no_other():
    late_first, late_last = compute(), compute()
    for first, elements, now in ((30, 20, 1000), (0, 30, 1000), (50, 10, 2000)):
        late_first.deliver(first, elements, now)
    for first, elements, now in ((50, 10, 1000), (30, 20, 1000), (0, 30, 2000)):
        late_last.deliver(first, elements, now)
    assert late_first.passes(1, 0).backward_at == 2000 + 7  # of layer 1: everything else waits behind it
    assert late_last.passes(1, 0).backward_at == 2000 + 4  # of layer 3: the others are through by then
    assert late_last.passes(1, 0).forward_at == 1000


def test_results_in_blocks_that_cut_layers():
    found = compute()
    for now, first in enumerate((45, 0, 15, 30), 1000):
        found.deliver(first, 15, now)
    assert found.passes(1, 0).forward_at == 1000  # elements 50 to 59 were in the first block
    assert found.passes(1, 0).backward_at == 1003 + 2 + 4


def test_what_nobody_delivered_is_there_at_the_end():
    found = compute()
    found.deliver(30, 30, 50)
    found.deliver_rest(90)
    assert found.passes(1, 0).forward_at == 50
    assert found.passes(1, 0).backward_at == 90 + 4
    found.deliver_rest(300)  # results of the next iteration are waited for anew
    found.deliver_rest(500)  # nothing is missing any more
    assert found.passes(2, 0).forward_at == 300


def test_an_iteration_that_starts_late():
    assert compute().passes(0, 50).forward_at == 50
    assert compute().passes(0, 50).ready[-1] == (757, 60)


def test_layers_without_time_are_ready_together():
    still = ComputeConfig((LayerConfig(10, 0, 0), LayerConfig(20, 0, 0), LayerConfig(30, 0, 5)))
    assert compute(still).passes(0, 0).ready == ((5, 60),)


def test_a_slow_host_needs_longer_for_everything():
    slow = compute(replace(CONFIG, slowdown=3.0)).passes(0, 0)
    assert slow.ready == ((1221, 30), (1821, 50), (2121, 60))


@pytest.mark.parametrize("jitter", [0.2, 0.9])
def test_jitter_stays_in_its_bounds_and_is_drawn_from_seed_rank_and_iteration(jitter):
    layers = tuple(LayerConfig(1, 0, 1_000_000) for _ in range(200))
    config = ComputeConfig(layers, jitter=jitter)

    def times(**who: int) -> list[int]:
        ready = [0, *(at for at, _ in compute(config, **who).passes(3, 0).ready)]
        return [end - start for start, end in pairwise(ready)]

    first = times()
    assert all(abs(time - 1_000_000) <= jitter * 1_000_000 + 1 for time in first)
    assert max(first) - min(first) > jitter * 1_500_000
    assert abs(sum(first) / 200 - 1_000_000) < jitter * 150_000
    assert times() == first
    assert times(rank=1) != first
    seeds = [times(seed=seed) for seed in range(8)]
    assert all(one != other for one, other in combinations(seeds, 2))
    assert compute(config).passes(4, 0) != compute(config).passes(3, 0)


STAGED = ComputeConfig(LAYERS, in_stages=True)


def test_a_stage_is_computed_when_the_result_of_the_one_in_front_is_there():
    found = compute(STAGED)
    passes = found.passes(0, 0)
    assert (passes.forward_at, passes.backward_at, passes.ready) == (0, 0, ((400, 30),))
    assert found.next_stage(400) is None
    found.deliver(0, 20, 500)
    assert found.next_stage(500) is None
    found.deliver(20, 10, 600)
    assert found.next_stage(600) == (800, 50)
    assert found.next_stage(600) is None  # told once
    found.deliver(30, 20, 900)
    assert found.next_stage(900) == (1000, 60)
    found.deliver(50, 10, 1100)
    assert found.next_stage(1100) is None


def test_the_first_stage_waits_for_all_results_of_the_iteration_before():
    found = compute(STAGED)
    found.passes(0, 0)
    for first, elements, now in ((0, 30, 70), (50, 10, 10), (30, 20, 40)):
        found.deliver(first, elements, now)
    assert found.passes(1, 5).ready == ((75 + 400, 30),)
    assert found.next_stage(480) is None


def test_layers_without_stages_have_no_next_one():
    found = compute()
    found.passes(0, 0)
    found.deliver(0, 30, 10)
    assert found.next_stage(10) is None
