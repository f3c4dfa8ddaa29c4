"""The network of GRID's worked example: eight workers and a parameter server on three switches that form a triangle.

Fang, Zhao, Xu, Wu, Yu: GRID, IEEE/ACM ToN 31(5), 2023, doi 10.1109/TNET.2023.3244794, figure 1."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from topologies.assembly import Cable, assemble, host, switch
from topologies.graph import LinkShape, Topology

__all__ = ["grid_triangle"]

_HOMES = {"s1": 4, "s2": 2, "s3": 2}
"""workers by switch"""


def grid_triangle(
    shape: LinkShape, server_link: LinkShape | None = None, overrides: Mapping[str, LinkShape] | None = None
) -> Topology:
    """Workers w1..w4 on s1, w5 and w6 on s2, w7 and w8 on s3; server ps on s3; links s1-s3 (L1), s1-s2 (L2), s2-s3
    (L3).

    `server_link`: shape of ps-s3 (default: `shape` at three times its rate, as in the example). `overrides`: shapes of
    single links, by name."""
    homes = [home for home, count in _HOMES.items() for _ in range(count)]
    workers = [host(number, f"w{number}") for number in range(1, len(homes) + 1)]
    server = replace(host(len(workers) + 1, "ps"), part="server")
    cables = [Cable(worker.name, home, shape) for worker, home in zip(workers, homes, strict=True)]
    cables.append(Cable("ps", "s3", server_link or replace(shape, rate_bps=3 * shape.rate_bps)))
    cables += [Cable("s1", "s3", shape), Cable("s1", "s2", shape), Cable("s2", "s3", shape)]
    return assemble("grid_triangle", [*workers, server, *map(switch, _HOMES)], cables, overrides)
