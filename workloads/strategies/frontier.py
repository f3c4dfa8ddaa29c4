"""The strategies that are worth having: no other one needs less memory and less time.

A dynamic programme along the chain. The cost of the rest of a chain depends only on the split of the operator before
it. So for each last split only those beginnings are kept that no other one dominates. Both costs grow by the same
amounts for all of them, so a dropped beginning could not become best later.
"""

from __future__ import annotations

from collections.abc import Iterable

from workloads.strategies.chain import SPLITS, Chain
from workloads.strategies.costs import Devices, Price, StrategyPoint, step

__all__ = ["frontier"]


def frontier(chain: Chain, devices: Devices) -> tuple[StrategyPoint, ...]:
    """The frontier by memory, least first. Of strategies with the same costs, the first by its words."""
    kept: dict[str, tuple[StrategyPoint, ...]] = {}
    for place, operator in enumerate(chain.operators):
        before = chain.operators[place - 1] if place else None
        beginnings: dict[str, tuple[StrategyPoint, ...]] = kept or {"": (StrategyPoint((), Price(0.0, 0.0, 0.0)),)}
        kept = {
            split: _not_dominated(
                StrategyPoint((*point.strategy, split), step(point.price, before, last, operator, split, devices))
                for last, points in beginnings.items()
                for point in points
            )
            for split in SPLITS
        }
    return _not_dominated(point for points in kept.values() for point in points)


def _not_dominated(points: Iterable[StrategyPoint]) -> tuple[StrategyPoint, ...]:
    """The points that no other dominates, by memory, least first, one of each price."""
    kept = list[StrategyPoint]()
    ordered = sorted(points, key=lambda point: (point.price.memory_bytes, point.price.time_s, point.strategy))
    for point in ordered:
        if not kept or point.price.time_s < kept[-1].price.time_s:
            kept.append(point)
    return tuple(kept)
