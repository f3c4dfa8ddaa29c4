"""The bound of a simulated run by the clock on the wall, and what its nodes did in the last part of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Set
from typing import NamedTuple

from testbed.history.events import RealLimitReached
from testbed.worlds.simulated.node import SimulatedNode

__all__ = ["RealLimit"]

_PARTS = 10
"""parts of the limit: after each part it looks at what all nodes did"""


class _Look(NamedTuple):
    at_s: float
    virtual_ns: int
    done: Mapping[str, tuple[int, int, int]]
    """By node: frames, events and wake-ups so far."""


class RealLimit:
    """Ends the run after `limit_s` of real time; None: never. It also gets the number of events that each node has
    reported."""

    def __init__(
        self,
        limit_s: float | None,
        nodes: Mapping[str, SimulatedNode],
        told: Mapping[str, int],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._limit_s, self._nodes, self._told, self._clock = limit_s, nodes, told, clock
        self._began_s = self._next_s = 0.0 if limit_s is None else clock()
        self._looks: list[_Look] = []
        self.is_over = False

    def step(self, virtual_ns: int) -> bool:
        """Whether the run may go on."""
        if self._limit_s is None or (now := self._clock()) < self._next_s:
            return True
        self.is_over = now >= self._began_s + self._limit_s
        self._looks = [*self._looks[-2:], self._look(now, virtual_ns)]
        self._next_s = min(now + self._limit_s / _PARTS, self._began_s + self._limit_s)
        return not self.is_over

    def event(self, unfinished: Set[str]) -> RealLimitReached:
        """When it is over."""
        assert self._limit_s is not None
        before, last = self._looks[0], self._looks[-1]
        did = {
            name: tuple(now - then for now, then in zip(counts, before.done[name], strict=True))
            for name, counts in last.done.items()
        }
        busiest = max(did, key=lambda name: sum(did[name]))
        frames, events, wakeups = did[busiest]
        return RealLimitReached(
            self._limit_s, tuple(sorted(unfinished)), busiest, frames, events, wakeups,
            round(last.at_s - before.at_s, 3), last.virtual_ns - before.virtual_ns,
        )  # fmt: skip

    def _look(self, now: float, virtual_ns: int) -> _Look:
        done = {name: (node.frames_out, self._told.get(name, 0), node.wakeups) for name, node in self._nodes.items()}
        return _Look(now, virtual_ns, done)
