"""Headlines whose places do not follow from pairs of runs alone."""

from __future__ import annotations

from itertools import product

from testbed.bench.papers.claims import GainPoint
from testbed.bench.swept import Say
from workloads.strategies.chain import SPLITS
from workloads.strategies.costs import Devices, price_of
from workloads.strategies.frontier import frontier
from workloads.strategies.models import chain_of_model

__all__ = ["FRONTIERS", "frontier_of_strategies"]

_MODELS, _SHARES = ("alexnet", "vgg16"), (0.25, 0.5, 1.0)
_DEVICES = 8
FRONTIERS = tuple(f"{name}, {share:.0%}" for name in _MODELS for share in _SHARES)
"""places of `frontier_of_strategies`: model, and share of the most memory"""


def frontier_of_strategies(say: Say) -> list[GainPoint]:
    """Best time of all strategies that fit into a share of the most memory, over that of the frontier."""
    found = list[GainPoint]()
    for name in _MODELS:
        chain, devices = chain_of_model(name), Devices(_DEVICES, 10e9 / 8)
        points = frontier(chain, devices)
        say(f"tensoropt: {len(SPLITS) ** len(chain.operators):,} strategies of {name}")
        prices = [price_of(chain, strategy, devices) for strategy in product(SPLITS, repeat=len(chain.operators))]
        most = max(price.memory_bytes for price in prices)
        for share in _SHARES:
            fits = [price.time_s for price in prices if price.memory_bytes <= share * most]
            ours = [point.price.time_s for point in points if point.price.memory_bytes <= share * most]
            ratio = (min(fits) / min(ours),) if fits and ours else ()
            found.append(GainPoint(f"{name}, {share:.0%}", ratio, exact=True))
    return found
