"""The headline of NetReduce's paper on machines of several workers. (S): read in the paper."""

from __future__ import annotations

from testbed.bench.papers.claims import Wins
from testbed.bench.papers.headline import Contest, Headline, gains

__all__ = ["HEADLINES"]

HEADLINES = (
    Headline(
        "hierarchical", "S. Liu et al., NetReduce, ASPLOS 2023",
        "PN beats flat ring and two levels past a bandwidth ratio (S)",
        "the condition: B_intra / B_inter > 2 (n - 1) P / (n (P - 2)) (S)",
        "2 machines of 4 workers, so a ratio of 2; measured at 2.25 and 4; 64 kB to 4 MB", "papers-hierarchical",
        gains([Contest("PN", ("FR",), "over FR"), Contest("PN", ("TA",), "over TA")], "jct_s", exact=True), Wins(),
        quick=(("job.size", ("64kB", "1MB")),),
    ),
)  # fmt: skip
