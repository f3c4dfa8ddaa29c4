"""Bytes that the busiest rank sends in one all-reduce of `size_bytes`: what a schedule of messages must add up to."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from workloads.costs.checks import check_ranks, log2_exact
from workloads.errors import ScenarioError

__all__ = ["DOUBLE_BINARY_TREE_SHARE", "sent_bytes"]

DOUBLE_BINARY_TREE_SHARE = 2.0
"""a rank of a double binary tree sends at most that many times the vector; its time is no closed form here"""

_SHARES: Mapping[str, Callable[[int], float]] = {
    "ring": lambda n: 2 * (n - 1) / n,
    "rabenseifner": lambda n: 2 * (1 - 2.0 ** -log2_exact(n, "rabenseifner")),
    "recursive_doubling": lambda n: log2_exact(n, "recursive_doubling"),
    "binomial_tree": lambda n: (n - 1).bit_length(),  # the root, to each of its children
    "torus2d": lambda n: 2 * (n - 1) / n,
    "sharded_ps": lambda n: 2 * (n - 1) / n,  # to the other shards, and its own shard to all others
    "ina": lambda n: 1,
    "ps": lambda n: 1,
    "ps_multicast": lambda n: 1,
    "ps_ina_up": lambda n: 1,
    "double_binary_tree": lambda n: DOUBLE_BINARY_TREE_SHARE,
}


def sent_bytes(algorithm: str, ranks: int, size_bytes: float) -> float:
    """Bytes that a rank sends: an upper bound for `double_binary_tree`, exact for all others (servers that are no
    ranks do not count). Raises ScenarioError for an algorithm without a byte count, or a number of ranks that it
    cannot do."""
    if algorithm not in _SHARES:
        raise ScenarioError("no byte count", key="algorithm", found=repr(algorithm), allowed=", ".join(_SHARES))
    check_ranks(ranks)
    return _SHARES[algorithm](ranks) * size_bytes
