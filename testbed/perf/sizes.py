"""Sizes as nccl-tests reads them: `1K` is 1024 bytes, and a range grows by a factor or by steps."""

from __future__ import annotations

import re
from fractions import Fraction

from workloads.config import ELEMENT_BYTES
from workloads.errors import ScenarioError

__all__ = ["MOST_SIZES", "SIZE_WORDS", "parse_bytes", "sizes_between"]

_SIZE = re.compile(r"([0-9]{1,15}(?:\.[0-9]{1,9})?|\.[0-9]{1,9})([KMG]?)\Z", re.IGNORECASE | re.ASCII)
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
_MOST = 1 << 40
MOST_SIZES = 200
SIZE_WORDS = "a number of bytes, or one with K (1024), M or G, as 64K; at most 1024G"


def parse_bytes(text: str) -> int | None:
    """None: it is no size."""
    found = _SIZE.match(text.strip())
    if found is None:
        return None
    size = Fraction(found[1]) * _UNITS[found[2].upper()]
    return int(size) if size <= _MOST else None


def sizes_between(least: int, most: int, *, factor: int | None, step: int) -> tuple[int, ...]:
    """From `least` to `most`, both rounded down to whole elements, as nccl-tests does. Raises ScenarioError."""
    if least < ELEMENT_BYTES:
        _refuse("-b", "is less than one element", least, f"at least {ELEMENT_BYTES}")
    if most < least:
        _refuse("-e", "is less than -b", most, f"at least {least}")
    found, size = dict[int, None](), least
    while size <= most:
        found[size - size % ELEMENT_BYTES] = None
        if len(found) > MOST_SIZES:
            allowed = f"at most {MOST_SIZES} sizes, with a larger -f or -i"
            raise ScenarioError("too many sizes", file="tb perf", key="-i" if factor is None else "-f", allowed=allowed)
        if factor is not None:
            size *= factor
        else:
            size += step
    return tuple(found)


def _refuse(key: str, problem: str, found: int, allowed: str) -> None:
    raise ScenarioError(problem, file="tb perf", key=key, found=f"{found} bytes", allowed=f"{allowed} bytes")
