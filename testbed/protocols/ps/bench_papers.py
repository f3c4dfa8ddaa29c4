"""The headline of Network Evolution; only its abstract is known."""

from __future__ import annotations

from testbed.bench.papers.claims import NoFigure
from testbed.bench.papers.headline import UNKNOWN, Contest, Headline, gains

__all__ = ["HEADLINES"]

_EVOLUTION = ("ps", "ps+ina", "ps+multicast", "ring", "rabenseifner", "recursive_doubling", "sharded_ps")
HEADLINES = (
    Headline(
        "evolution", "Network Evolution for DNNs, SysML 2018", "which optimisation of the network is best",
        UNKNOWN, "star of 8 hosts, 400 kB: sums and multicast in the network, against seven others",
        "papers-evolution",
        gains([Contest("ps+ina+multicast", _EVOLUTION)], "jct_s", exact=True),
        NoFigure("the abstract names no method and no figure"),
    ),
)  # fmt: skip
