"""The headline of DLCP's paper. (S): read in its abstract."""

from __future__ import annotations

from testbed.bench.papers.claims import UpTo
from testbed.bench.papers.headline import UNKNOWN, Contest, Headline, gains

__all__ = ["HEADLINES"]

HEADLINES = (
    Headline(
        "dlcp", "DLCP, arXiv 2008.08445", "up to 84.3 % faster training than the best existing (S)", UNKNOWN,
        "communication alone, 4 hosts, 20 Mbit/s, 2 % dispensable, 0.1 to 1 % loss", "papers-bounded",
        gains(
            [
                Contest("DLCP over a server", ("server",), "server"),
                Contest("DLCP over a ring", ("ring", "ring, IRN"), "ring"),
            ],
            "jct_s",
        ),
        UpTo(1.843), is_setting_known=False, quick=(("faults.loss.rate", ("1%",)),),
    ),
)  # fmt: skip
