"""Cost of all-reduce among equal ranks, one link each: seconds, and bytes that a rank sends.

n bytes, N ranks, latency alpha per step, b = 8 / bandwidth seconds per byte. Reducing costs nothing. Standard formulas:
Thakur, Rabenseifner, Gropp (2005); Patarasu, Yuan (2009).

All functions: `ranks` N >= 2, `size_bytes` n, `bandwidth_bps` bits per second, `alpha_s` seconds -> seconds. They raise
ScenarioError for arguments out of range; the ones on halves also when N is no power of two.
"""

from __future__ import annotations

import math

from workloads.costs.checks import check_link, check_ranks, log2_exact
from workloads.errors import ScenarioError

__all__ = [
    "binomial_tree",
    "ina",
    "ps",
    "ps_ina_up",
    "ps_multicast",
    "rabenseifner",
    "recursive_doubling",
    "ring",
    "sharded_ps",
    "torus2d",
    "torus_shape",
]


def _whole(ranks: int, size_bytes: float, bandwidth_bps: float, alpha_s: float) -> float:
    """n b: seconds that the whole vector takes on a link."""
    check_ranks(ranks)
    check_link(size_bytes, bandwidth_bps, alpha_s)
    return size_bytes * 8 / bandwidth_bps


def ring(ranks: int, size_bytes: float, bandwidth_bps: float, alpha_s: float) -> float:
    """2(N-1) alpha + 2(N-1)/N n b"""
    whole = _whole(ranks, size_bytes, bandwidth_bps, alpha_s)
    return 2 * (ranks - 1) * alpha_s + 2 * (ranks - 1) / ranks * whole


def rabenseifner(ranks: int, size_bytes: float, bandwidth_bps: float, alpha_s: float) -> float:
    """Recursive halving, then doubling: 2 log2 N alpha + 2(N-1)/N n b; N = 2^m"""
    whole = _whole(ranks, size_bytes, bandwidth_bps, alpha_s)
    return 2 * log2_exact(ranks, "rabenseifner") * alpha_s + 2 * (ranks - 1) / ranks * whole


def recursive_doubling(ranks: int, size_bytes: float, bandwidth_bps: float, alpha_s: float) -> float:
    """log2 N (alpha + n b); N = 2^m"""
    whole = _whole(ranks, size_bytes, bandwidth_bps, alpha_s)
    return log2_exact(ranks, "recursive_doubling") * (alpha_s + whole)


def binomial_tree(ranks: int, size_bytes: float, bandwidth_bps: float, alpha_s: float) -> float:
    """Reduce to the root, then broadcast: 2 ceil(log2 N) (alpha + n b)"""
    whole = _whole(ranks, size_bytes, bandwidth_bps, alpha_s)
    return 2 * (ranks - 1).bit_length() * (alpha_s + whole)


def torus_shape(ranks: int) -> tuple[int, int]:
    """(X, Y), X >= Y, as square as can be; a prime number of ranks gives X = N, Y = 1, a ring."""
    check_ranks(ranks)
    short = next(y for y in range(math.isqrt(ranks), 0, -1) if ranks % y == 0)
    return ranks // short, short


def torus2d(
    ranks: int, size_bytes: float, bandwidth_bps: float, alpha_s: float, shape: tuple[int, int] | None = None
) -> float:
    """2(X+Y-2) alpha + 2(XY-1)/(XY) n b; `shape` (X, Y) is `torus_shape(ranks)` unless given. Raises ScenarioError when
    X Y is not N."""
    whole = _whole(ranks, size_bytes, bandwidth_bps, alpha_s)
    x, y = shape or torus_shape(ranks)
    if min(x, y) < 1 or x * y != ranks:
        raise ScenarioError("does not hold all ranks", key="shape", found=f"{x} x {y}", allowed=f"X x Y = {ranks}")
    return 2 * (x + y - 2) * alpha_s + 2 * (ranks - 1) / ranks * whole


def sharded_ps(ranks: int, size_bytes: float, bandwidth_bps: float, alpha_s: float) -> float:
    """Every rank serves 1/N of the vector: 2 alpha + 2(N-1)/N n b"""
    whole = _whole(ranks, size_bytes, bandwidth_bps, alpha_s)
    return 2 * alpha_s + 2 * (ranks - 1) / ranks * whole


def ina(ranks: int, size_bytes: float, bandwidth_bps: float, alpha_s: float) -> float:
    """The switch sums at line rate: 2 alpha + n b"""
    return 2 * alpha_s + _whole(ranks, size_bytes, bandwidth_bps, alpha_s)


def ps(ranks: int, size_bytes: float, bandwidth_bps: float, alpha_s: float) -> float:
    """One parameter server behind one link, N vectors in, N out: 2 alpha + 2N n b"""
    return 2 * alpha_s + 2 * ranks * _whole(ranks, size_bytes, bandwidth_bps, alpha_s)


def ps_multicast(ranks: int, size_bytes: float, bandwidth_bps: float, alpha_s: float) -> float:
    """As `ps`, the result leaves the server once: 2 alpha + (N+1) n b"""
    return 2 * alpha_s + (ranks + 1) * _whole(ranks, size_bytes, bandwidth_bps, alpha_s)


def ps_ina_up(ranks: int, size_bytes: float, bandwidth_bps: float, alpha_s: float) -> float:
    """As `ps`, the switch sums on the way up only: 2 alpha + (N+1) n b"""
    return ps_multicast(ranks, size_bytes, bandwidth_bps, alpha_s)
