"""A binomial tree: the vectors go up to rank 0, and the sum comes down.

In step k a rank whose lowest set bit is 2^k gives what it holds to the rank without that bit. The sum comes down in the
opposite order. It works for any number of ranks: a rank without a partner has nothing to do in that step. Without a
further rule it would give its vector too early, while its parent still gets another one. A part that fits the receive
slots does no harm. The rest of a longer vector would be refused again and again. So the parent of such a rank says when
it is ready.
"""

from __future__ import annotations

from workloads.collectives.pairs import PairPhase, check_ranks, meetings_of_tree
from workloads.config import ELEMENT_BYTES

__all__ = ["binomial_tree", "tree_broadcast", "tree_reduce"]

_SLOTS_ELEMENTS = 512 * 256 // ELEMENT_BYTES
"""what the slots of a connection (`ring.py`) hold of the shortest packets"""


def binomial_tree(ranks: int, elements: int) -> tuple[PairPhase, ...]:
    """Raises ScenarioError below 2 ranks."""
    check_ranks(ranks)
    steps = (ranks - 1).bit_length()
    up, down = list[PairPhase](), list[PairPhase]()
    for step in range(steps):
        spread = []
        for parent, child in meetings_of_tree(ranks, step):
            if step and child + (1 << step - 1) >= ranks and elements > _SLOTS_ELEMENTS:
                up.append(PairPhase(2 * step, f"ready_{step}", "ready", (parent, child), 0, 1))
            up.append(PairPhase(2 * step + 1, f"up_{step}", "chain_reduce", (child, parent), 0, elements))
            spread.append(PairPhase(3 * steps - step, f"down_{step}", "chain_broadcast", (parent, child), 0, elements))
        down[:0] = spread
    return (*up, *down)


def tree_reduce(ranks: int, elements: int, root: int = 0) -> tuple[PairPhase, ...]:
    """The way up alone, to `root`. Raises ScenarioError below 2 ranks."""
    check_ranks(ranks)
    phases = []
    for step in range((ranks - 1).bit_length()):
        for parent, child in meetings_of_tree(ranks, step, root):
            phases.append(PairPhase(2 * step, f"ready_{step}", "ready", (parent, child), 0, min(1, elements)))
            phases.append(PairPhase(2 * step + 1, f"up_{step}", "chain_reduce", (child, parent), 0, elements))
    return tuple(phases)


def tree_broadcast(ranks: int, elements: int, root: int = 0) -> tuple[PairPhase, ...]:
    """The way down alone, from `root`. Raises ScenarioError below 2 ranks."""
    check_ranks(ranks)
    phases, steps = [], (ranks - 1).bit_length()
    for number, step in enumerate(reversed(range(steps))):
        for parent, child in meetings_of_tree(ranks, step, root):
            phases.append(PairPhase(2 * number, f"ready_{step}", "ready", (child, parent), 0, min(1, elements)))
            phases.append(PairPhase(2 * number + 1, f"down_{step}", "chain_broadcast", (parent, child), 0, elements))
    return tuple(phases)
