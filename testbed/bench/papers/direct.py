"""Headlines whose places do not follow from pairs of runs alone."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

from testbed.bench.grid import bench_grid
from testbed.bench.papers.claims import GainPoint
from testbed.bench.swept import Say
from testbed.scenario.geometry import packet_bytes
from testbed.scenario.model import Transport
from testbed.sweeps.groups import PointGroup
from workloads.strategies.chain import SPLITS
from workloads.strategies.costs import Devices, price_of
from workloads.strategies.frontier import frontier
from workloads.strategies.models import chain_of_model

__all__ = ["FRONTIERS", "GRID_RATES", "credit", "credit_s", "frontier_of_strategies", "grid_rates"]

_RATE_BPS, _DELAY_S, _SIZE, _MESSAGE_PACKETS, _MTU = 100e6, 1e-3, 2_000_000, 16, 1024
"""those of the sweep `papers-credit`"""
_ETHERNET, _ACK = 14, 62
_MODELS, _SHARES = ("alexnet", "vgg16"), (0.25, 0.5, 1.0)
_DEVICES = 8
GRID_RATES = dict(zip(("atp", "grid"), (2.4375, 3.0), strict=True))
"""published rates of two planners, compared with that of `geryon`"""
FRONTIERS = tuple(f"{name}, {share:.0%}" for name in _MODELS for share in _SHARES)
"""places of `frontier_of_strategies`: model, and share of the most memory"""


def credit_s(window: int) -> float:
    """Closed form of the time of `papers-credit` in s, for a window of so many messages (decided here). A message takes
    T on its link. Its credit returns after T, four link delays, the last packet's second link and two ACKs. Below the
    knee, a window of messages takes that long."""
    frame = (packet_bytes(Transport(path_mtu=_MTU))[0] + _ETHERNET) * 8 / _RATE_BPS
    message, around = _MESSAGE_PACKETS * frame, 4 * _DELAY_S + frame + 2 * _ACK * 8 / _RATE_BPS
    packets = -(-_SIZE // _MTU)
    return packets * frame * max(1.0, (message + around) / (window * message)) + around


def credit(groups: Sequence[PointGroup]) -> list[GainPoint]:
    """Closed form / measured time, by window."""
    return [
        GainPoint(f"window {window}", tuple(credit_s(window) / found for found in group.numbers("jct_s")), exact=True)
        for group in groups
        for window in [int(group.values["job.window_messages"])]
    ]


def grid_rates(say: Say) -> list[GainPoint]:
    """Smallest rate of the planners `atp` and `grid` on the network, over that of `geryon`."""
    rows = {row.what: row for row in bench_grid(say)}
    return [GainPoint(name, (rows[f"smallest rate, {name} / geryon"].median,), exact=True) for name in GRID_RATES]


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
