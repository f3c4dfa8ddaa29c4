"""Which paused links wait for each other in a circle (a cyclic buffer dependency that has closed).

A link that is paused goes on when enough of what came over it has left its switch. What waits behind another paused
link does not leave, nor does what waits in a slot for a packet that must come over one. `deadlocked` removes every link
that can go on, until none is left that can. What remains waits for ever.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

__all__ = ["Place", "Waiting", "cycle_of", "deadlocked"]

Place = tuple[str, str, int]
"""(`LINK DIRECTION`, switch that paused it, class)"""


@dataclass(frozen=True, slots=True)
class Waiting:
    """Some of what is charged to a paused link: `size` bytes that wait until all links of `behind` are open."""

    size: int
    behind: tuple[Place, ...]
    slot: str = ""
    """name of the switch whose aggregation slots hold it; empty: it is in the queue of a port"""


def deadlocked(
    paused: Mapping[Place, Sequence[Waiting]], goes_on: Callable[[Mapping[Place, int]], Iterable[Place]]
) -> dict[Place, list[Waiting]]:
    """`paused`: by paused link, what is charged to it. `goes_on`: given the stuck bytes of each link that may still be
    stuck, those that would resume once all else has left. Returns the stuck links with what keeps each of them."""
    stuck = dict(paused)
    while stuck:
        kept = {
            place: [each for each in waiting if any(other in stuck for other in each.behind)]
            for place, waiting in stuck.items()
        }
        free = set(goes_on({place: sum(each.size for each in found) for place, found in kept.items()}))
        if not free:
            return kept
        stuck = {place: waiting for place, waiting in stuck.items() if place not in free}
    return {}


def cycle_of(stuck: Mapping[Place, Sequence[Waiting]]) -> list[tuple[Place, str]]:
    """One circle among links that are stuck, each followed by the one that it waits for, with the switch whose slots
    it waits in (or empty). Empty: nothing is stuck."""
    if not stuck:
        return []
    place, seen, path = min(stuck), dict[Place, int](), list[tuple[Place, str]]()
    while place not in seen:
        seen[place] = len(path)
        following = min(
            ((other, each.slot) for each in stuck[place] for other in each.behind if other in stuck),
            default=None,
        )
        if following is None:
            return []
        path.append((place, following[1]))
        place = following[0]
    return path[seen[place] :]
