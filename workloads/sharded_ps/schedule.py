"""A sharded parameter server: every rank is the server of its share of the vector. All send share i to rank i, which
sums them; then it sends the sum to all.

Rank r sends to r-1, r-2, ... in that order (modulo the ranks): at no time do two begin with the same target. So server
i gets, and sums, in the order i, i+1, ..., i-1, which is that of a ring.
"""

from __future__ import annotations

from workloads.collectives.pairs import PairPhase, check_ranks
from workloads.collectives.schedules import chunk_bounds
from workloads.config import ELEMENT_BYTES
from workloads.errors import ScenarioError

__all__ = ["sharded_ps"]


def sharded_ps(ranks: int, elements: int) -> tuple[PairPhase, ...]:
    """Raises ScenarioError below 2 ranks, and for less elements than ranks: one would have nothing to serve."""
    check_ranks(ranks)
    if elements < ranks:
        raise ScenarioError(
            "not an element for each rank to serve", key="job.size", found=f"{elements} elements",
            allowed=f"at least {ranks} elements",
        )  # fmt: skip
    shares = [
        (start // ELEMENT_BYTES, (stop - start) // ELEMENT_BYTES) for start, stop in chunk_bounds(elements, ranks)
    ]
    pairs = [(source, (source - distance) % ranks) for distance in range(1, ranks) for source in range(ranks)]
    return (
        *(PairPhase(0, f"to_{target}_from_{source}", "collect", (source, target), *shares[target])
          for source, target in pairs),
        *(PairPhase(1, f"of_{source}_to_{target}", "chain_broadcast", (source, target), *shares[source])
          for source, target in pairs),
    )  # fmt: skip
