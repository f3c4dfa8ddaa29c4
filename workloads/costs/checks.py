"""What every cost model asks of its arguments. The errors are ScenarioErrors: a parameter of a sweep or a flag was
wrong."""

from __future__ import annotations

import math

from workloads.errors import ScenarioError

__all__ = ["check_link", "check_ranks", "is_power_of_two", "log2_exact"]


def check_ranks(ranks: int, least: int = 2) -> None:
    """Raises ScenarioError when there are fewer."""
    if ranks < least:
        raise ScenarioError("too few ranks", key="ranks", found=str(ranks), allowed=f"at least {least}")


def check_link(size_bytes: float, bandwidth_bps: float, alpha_s: float) -> None:
    """Raises ScenarioError for a size or latency below zero, a bandwidth that is not above zero, or no number at
    all."""
    for key, value, least, word in (
        ("size_bytes", size_bytes, 0, "0 or more"),
        ("bandwidth_bps", bandwidth_bps, math.nextafter(0, 1), "more than 0"),
        ("alpha_s", alpha_s, 0, "0 or more"),
    ):
        if not (least <= value < math.inf):
            raise ScenarioError("out of range", key=key, found=str(value), allowed=word)


def is_power_of_two(ranks: int) -> bool:
    return ranks > 0 and ranks & (ranks - 1) == 0


def log2_exact(ranks: int, algorithm: str) -> int:
    """Raises ScenarioError when `ranks` is no power of two: the algorithm exchanges between halves."""
    if not is_power_of_two(ranks):
        below = 1 << (ranks.bit_length() - 1) if ranks > 0 else 1
        raise ScenarioError(
            f"{algorithm} needs a power of two of ranks", key="ranks", found=str(ranks),
            allowed=f"a power of two, as {max(below, 2)} or {max(below, 2) * 2}",
        )  # fmt: skip
    return ranks.bit_length() - 1
