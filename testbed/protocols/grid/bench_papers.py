"""The headline of GRID's paper. (S): read in the paper."""

from __future__ import annotations

from testbed.bench.papers.claims import Exactly, GainPoint
from testbed.bench.papers.headline import Headline
from testbed.bench.swept import Say
from testbed.protocols.grid.bench import bench_grid

__all__ = ["GRID_RATES", "HEADLINES", "grid_rates"]

GRID_RATES = dict(zip(("atp", "grid"), (2.4375, 3.0), strict=True))
"""published rates of two planners, compared with that of `geryon`"""


def grid_rates(say: Say) -> list[GainPoint]:
    """Smallest rate of the planners `atp` and `grid` on the network, over that of `geryon`."""
    rows = {row.what: row for row in bench_grid(say)}
    return [GainPoint(name, (rows[f"smallest rate, {name} / geryon"].median,), exact=True) for name in GRID_RATES]


HEADLINES = (
    Headline(
        "grid", "GRID, INFOCOM 2023", "rates of three schemes, 1 : 2.43 : 3 (S)", "the example of the paper (S)",
        "a figure of the example contradicts itself: 2.4375", "", lambda groups: [],
        Exactly(GRID_RATES), direct=grid_rates,
    ),
)  # fmt: skip
