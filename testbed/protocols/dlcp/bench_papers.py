"""The headline of DLCP's paper. (S): read in its abstract."""

from __future__ import annotations

from collections.abc import Sequence

from testbed.bench.papers.claims import UpTo
from testbed.bench.papers.headline import UNKNOWN, Contest, Headline, gains
from testbed.sweeps.groups import PointGroup

__all__ = ["HEADLINES"]


def _bounded(over: str, *peers: str) -> list[Contest]:
    """DLCP over a server or a ring, with each share that is dispensable."""
    return [Contest(f"DLCP over a {over}, {share} %", peers, f"{over} {share} %") for share in (1, 2, 5)]


def _why_bounded(groups: Sequence[PointGroup]) -> str:
    """What keeps the gain small, in figures of the same runs."""
    found = ["IRN resends within a round trip, and a server that streams sums uses both directions at once"]
    for contests, words in (
        (_bounded("ring", "ring"), "over go-back-N alone"),
        (_bounded("server", "whole flows"), "over the same server with whole flows"),
    ):
        known = [place.interval[1] for place in gains(contests, "jct_s")(groups) if place.gains]
        found += [f"{words} the best gain is {max(known):.2f}"] if known else []
    return "; ".join(found)


HEADLINES = (
    Headline(
        "dlcp", "DLCP, arXiv 2008.08445", "up to 84.3 % faster training than the best existing (S)", UNKNOWN,
        "communication alone, 4 hosts, 20 Mbit/s; 1, 2 and 5 % dispensable; each link loses 0.1 to 1 %, a path has two",
        "papers-bounded",
        gains([*_bounded("server", "whole flows", "server"), *_bounded("ring", "ring", "ring, IRN")], "jct_s"),
        UpTo(1.843), remark=_why_bounded, is_setting_known=False, quick=(("faults.loss.rate", ("1%",)),),
    ),
)  # fmt: skip
