"""The dynamic programme against every strategy there is, and against the oracle."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workloads.strategies.chain import SPLITS, Chain, Operator
from workloads.strategies.costs import Devices, Price, StrategyPoint, price_of
from workloads.strategies.frontier import frontier

NS_PER_S = 1_000_000_000
SIZES = st.integers(1, 1000)
OPERATORS = st.builds(Operator, st.just("o"), SIZES, SIZES, st.integers(0, 10 * NS_PER_S))
CHAINS = st.lists(OPERATORS, min_size=1, max_size=8).map(lambda found: Chain("c", tuple(found)))
DEVICES = st.builds(Devices, st.integers(2, 9), st.floats(1, 1000), st.sampled_from([None, 1.0]))


def prices(chain: Chain, devices: Devices) -> list[Price]:
    return [point.price for point in frontier(chain, devices)]


def all_points(chain: Chain, devices: Devices) -> list[StrategyPoint]:
    strategies = product(SPLITS, repeat=len(chain.operators))
    return [StrategyPoint(strategy, price_of(chain, strategy, devices)) for strategy in strategies]


@given(CHAINS, DEVICES)
def test_it_is_what_brute_force_finds(chain: Chain, devices: Devices) -> None:
    points = all_points(chain, devices)
    assert len(points) == 2 ** len(chain.operators)
    best = {
        (point.price.memory_bytes, point.price.time_s)
        for point in points
        if not any(other.price.dominates(point.price) for other in points)
    }
    found = frontier(chain, devices)
    assert [(point.price.memory_bytes, point.price.time_s) for point in found] == sorted(best)
    by_strategy = {point.strategy: point.price for point in points}
    assert all(by_strategy[point.strategy] == point.price for point in found)


def test_of_strategies_that_cost_the_same_the_first_is_kept() -> None:
    # Weights and activations alike, and nothing to reshard after the last: both splits take as long, MP less memory.
    chain = Chain("c", (Operator("a", 100, 100),))
    assert [point.strategy for point in frontier(chain, Devices(2, 1.0))] == [("MP",)]


def examples(oracles: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((oracles / "tensoropt.json").read_text())["examples"]
    return found


def chain_of(example: dict[str, Any]) -> Chain:
    return Chain(
        example["name"],
        tuple(Operator(str(place), op["w"], op["a"], op["t"] * NS_PER_S) for place, op in enumerate(example["ops"])),
    )


def test_the_oracle(oracles: Path) -> None:
    found = examples(oracles)
    assert [example["name"] for example in found] == ["two_op", "four_op"]
    for example in found:
        chain, devices = chain_of(example), Devices(example["P"], example["B"])
        points = {",".join(point.strategy): point.price for point in all_points(chain, devices)}
        assert points.keys() == example["strategies"].keys()
        for words, price in points.items():
            row = example["strategies"][words]
            assert price.memory_bytes == pytest.approx(row["mem"], rel=1e-9)
            assert price.time_s == pytest.approx(row["time"], rel=1e-9)
            assert price.sent_bytes == pytest.approx(row["comm_bytes_per_device"], rel=1e-9)
        kept = frontier(chain, devices)
        assert len(kept) == len(example["frontier"])
        for point, row in zip(kept, example["frontier"], strict=True):
            assert point.price.memory_bytes == pytest.approx(row["mem"], rel=1e-9)
            assert point.price.time_s == pytest.approx(row["time"], rel=1e-9)
            assert ",".join(point.strategy) in row["strategy"]


def test_long_chains_take_no_time() -> None:
    """2^60 strategies."""
    chain = Chain("c", tuple(Operator(str(n), 1 + n % 7, 1 + n % 5, n) for n in range(60)))
    assert frontier(chain, Devices(4, 1.0))
