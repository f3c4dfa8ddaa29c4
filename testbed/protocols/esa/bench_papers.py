"""The headline of ESA's paper. (S): read in its abstract."""

from __future__ import annotations

from testbed.bench.papers.claims import UpTo
from testbed.bench.papers.headline import UNKNOWN, Contest, Headline, gains

__all__ = ["HEADLINES"]

HEADLINES = (
    Headline(
        "esa", "H. Wang et al., ESA (arXiv 2022)", "average JCT up to 1.35 times as good as ATP (S)", UNKNOWN,
        "two VGG16, two ResNet50; memory from SW/12 to 40 SW", "ina-mix-2-2",
        gains([Contest("esa", ("atp",))], "jobs.average_jct_s"), UpTo(1.35), variants=("atp", "esa"),
        is_setting_known=False,
        quick=(("switch.memory", (8, 96, 960)),),
    ),
)  # fmt: skip
