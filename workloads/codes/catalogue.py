"""The codes by name, with what (n, k, d) each can have."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from workloads.codes.linear import LinearCode

__all__ = ["CODES", "create_code", "problem_of"]

MOST_NODES = 255


def _reed_solomon(n: int, k: int, d: int) -> LinearCode:
    from workloads.codes.reed_solomon import reed_solomon  # with arrays, when a code is used

    return reed_solomon(n, k)


def _msr(n: int, k: int, d: int) -> LinearCode:
    from workloads.codes.product_matrix import msr

    return msr(n, k, d)


def _mbr(n: int, k: int, d: int) -> LinearCode:
    from workloads.codes.product_matrix import mbr

    return mbr(n, k, d)


CODES: Mapping[str, Callable[[int, int, int], LinearCode]] = {"rs": _reed_solomon, "msr": _msr, "mbr": _mbr}


def problem_of(name: str, n: int, k: int, d: int) -> tuple[str, str, str] | None:
    """(which of n, k, d; what is wrong; what is allowed) of a code of that name that cannot be; None: it can."""
    if not 1 <= k < n:
        return "k", "not fewer than the nodes", f"1 to {n - 1}: k of the n = {n} nodes have the file"
    if name == "rs" and d != k:
        return "d", "Reed-Solomon repairs a node by decoding", f"{k}, which is k"
    if not k <= d < n:
        return "d", "no number of donors", f"{k} to {n - 1}: at least k, and all but the lost node"
    if name == "msr":
        if k == 1:
            return "k", "with one node a copy of the file, nothing is regenerated", "2 or more"
        least = 2 * k - 2
        if d < least:
            allowed = f"{least} to {n - 1}" if least < n else f"with a smaller k, or more nodes than {least}"
            return "d", "the product-matrix construction of MSR needs d >= 2k - 2", allowed
        alpha, nodes = d - k + 1, n + d - 2 * k + 2
        from workloads.codes.product_matrix import msr_points

        most = len(msr_points(MOST_NODES, alpha))
        if most < nodes:
            return "n", f"GF(2^8) has only {most} points for this code", f"at most {n - (nodes - most)}"
    return None


@cache
def create_code(name: str, n: int, k: int, d: int) -> LinearCode:
    """Raises ValueError for what cannot be (`problem_of`)."""
    problem = problem_of(name, n, k, d)
    if problem is not None:
        key, wrong, allowed = problem
        raise ValueError(f"{name} ({n}, {k}, {d}): {key}: {wrong}; allowed: {allowed}")
    return CODES[name](n, k, d)
