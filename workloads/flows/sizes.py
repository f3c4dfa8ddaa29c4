"""Distributions of flow sizes: a cumulative curve through points, straight between them.

| name | source of its points |
|---|---|
| `websearch` | web search of M. Alizadeh et al., "Data Center TCP (DCTCP)" (SIGCOMM 2010), as in the HPCC simulator |
| `hadoop` | Hadoop of A. Roy et al., "Inside the Social Network's (Datacenter) Network" (SIGCOMM 2015), likewise |
| `storage` | Alibaba's distributed storage of 2019, as in the HPCC simulator |
| `irn` | R. Mittal et al., "Revisiting Network Support for RDMA" (SIGCOMM 2018), three ranges from memory; straight \
lines inside each range are decided here |

The files of the HPCC simulator are `traffic_gen/*.txt` of alibaba-edu/High-Precision-Congestion-Control.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

__all__ = ["BUILT_IN", "LARGEST", "FlowSizes", "built_in", "parse_sizes", "problem_of"]

LARGEST = 1 << 30
"""bytes of the largest flow"""
_POINTS = tuple[tuple[float, float], ...]
_WHOLE = 100.0

BUILT_IN: dict[str, _POINTS] = {
    "irn": ((32, 0), (1_000, 50), (200_000, 85), (3_000_000, 100)),
    "websearch": (
        (0, 0), (10_000, 15), (20_000, 20), (30_000, 30), (50_000, 40), (80_000, 53), (200_000, 60), (1_000_000, 70),
        (2_000_000, 80), (5_000_000, 90), (10_000_000, 97), (30_000_000, 100),
    ),
    "hadoop": (
        (0, 0), (100, 1), (200, 2), (300, 5), (350, 15), (400, 20), (500, 30), (600, 40), (700, 50), (1_000, 60),
        (2_000, 67), (7_000, 70), (30_000, 72), (50_000, 82), (80_000, 87), (120_000, 90), (300_000, 95),
        (1_000_000, 97.5), (2_000_000, 99), (10_000_000, 100),
    ),
    "storage": (
        (0, 0), (4_000, 22.93), (8_000, 69.21), (16_000, 80.61), (32_000, 90.47), (64_000, 93.53), (128_000, 96.77),
        (256_000, 97.53), (2_000_000, 100),
    ),
}  # fmt: skip
"""(bytes, percent of flows that are no larger)"""


def problem_of(points: Sequence[Sequence[float]]) -> str:
    """What is wrong with the points of a distribution. Empty: nothing."""
    if len(points) < 2 or any(len(point) != 2 for point in points):
        return "two points or more, each of a size and a percentage"
    if points[0][1] != 0 or points[-1][1] != _WHOLE:
        return "the first percentage is 0, and the last one 100"
    if not all(math.isfinite(value) and value >= 0 for point in points for value in point):
        return "numbers of 0 or more"
    if any(a[0] > b[0] or a[1] > b[1] or a == b for a, b in pairwise(points)):
        return "sizes and percentages that rise from line to line"
    if not 1 <= points[-1][0] <= LARGEST:
        return f"a largest size of 1 to {LARGEST} bytes"
    return ""


@dataclass(frozen=True, slots=True)
class FlowSizes:
    """A distribution. `points` are (bytes, percent of flows that are no larger), as `problem_of` wants them."""

    name: str
    """built-in name, path of the file, or empty for a fixed size or a list in a scenario"""
    points: tuple[tuple[float, float], ...]

    def at(self, share: float) -> int:
        """Bytes that this share of all flows, from 0 to 1, do not exceed; at least 1."""
        percent = share * _WHOLE
        place = max(1, bisect_left([point[1] for point in self.points], percent))
        (low, before), (high, after) = self.points[place - 1 : place + 1]
        inside = (percent - before) / (after - before) if after > before else 1.0
        return max(1, round(low + (high - low) * inside))

    def share_up_to(self, size: float) -> float:
        """Share of flows that have no more bytes."""
        place = bisect_right([point[0] for point in self.points], size)
        if not 0 < place < len(self.points):
            return float(place > 0)
        (low, before), (high, after) = self.points[place - 1 : place + 1]
        return (before + (after - before) * (size - low) / (high - low)) / _WHOLE

    @property
    def mean(self) -> float:
        """Bytes. Sizes are rounded, which this does not follow."""
        return sum((a[0] + b[0]) / 2 * (b[1] - a[1]) for a, b in pairwise(self.points)) / _WHOLE

    def mean_packets(self, mtu: int) -> float:
        """Packets of a flow on average, `mtu` bytes being the most in one: the sum of the shares above each multiple
        of it."""
        most = math.ceil(self.points[-1][0] / mtu)
        return 1 + sum(1 - self.share_up_to(count * mtu) for count in range(1, most))


def built_in(name: str) -> FlowSizes:
    """Raises KeyError for a name that is not in `BUILT_IN`."""
    return FlowSizes(name, BUILT_IN[name])


def parse_sizes(text: str) -> tuple[tuple[float, float], ...]:
    """The points of a file: a size and a percentage per line; empty lines and what follows `#` do not count. Raises
    ValueError, whose text says what is allowed."""
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        words = line.partition("#")[0].split()
        if not words:
            continue
        try:
            size, percent = map(float, words)
        except ValueError:
            raise ValueError(f"line {number}: a size in bytes and a cumulative percentage, as 1000 50") from None
        found.append((size, percent))
    problem = problem_of(found)
    if problem:
        raise ValueError(problem)
    return tuple(found)
