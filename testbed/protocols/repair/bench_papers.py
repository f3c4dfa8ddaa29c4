"""The headline of regenerating codes. (S): read in the paper."""

from __future__ import annotations

from testbed.bench.papers.claims import Exactly
from testbed.bench.papers.headline import Contest, Headline, gains

__all__ = ["HEADLINES"]

HEADLINES = (
    Headline(
        "regenerating", "A. Dimakis et al., 2010", "repair traffic at the MSR and MBR points (S)",
        "M d / (k (d - k + 1)) and 2 M d / (k (2 d - k + 1)) (S)",
        "n = 6, k = 3, d = 5, so 1.8 and 2.4 times less than Reed-Solomon; bytes into the newcomer, with headers",
        "papers-repair",
        gains([Contest("MSR", ("RS",), "MSR"), Contest("MBR", ("RS",), "MBR")], "busiest_link.bytes", exact=True),
        Exactly({"MSR": 1.8, "MBR": 2.4}),
    ),
)  # fmt: skip
