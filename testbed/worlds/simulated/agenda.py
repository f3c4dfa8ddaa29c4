"""Virtual time: what happens when, in an order that depends on the seed and on nothing else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cython

if not cython.compiled:
    from workloads.heap import (
        heap_first,
        heap_free,
        heap_last,
        heap_new,
        heap_pop,
        heap_push,
        heap_what,
    )

__all__ = ["Actor", "Agenda"]

_MASK = (1 << 64) - 1
_GOLDEN, _MIX1, _MIX2 = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB  # constants of splitmix64


class Actor:
    """Something that has appointments."""

    def act(self, what: int, argument: Any) -> None:
        """Keep one; `what` and `argument` are those of `Agenda.appoint`."""
        raise NotImplementedError


class _Caller(Actor):
    """Whose appointments are calls."""

    def act(self, what: int, argument: Any) -> None:
        action, own = argument
        action(own)


class Agenda:
    """Appointments in order of time. Equal times: the actors' order is drawn from (seed, time), so that no actor is
    always first; appointments of one actor keep the order in which they were made."""

    def __init__(self, seed: int) -> None:
        self.now = 0
        """ns"""
        self.floor = 0
        """Appointments before this time are kept at it: of a process that came late. Virtual time is never late."""
        self._steps = 0
        """since the last look"""
        self._salt = (seed & _MASK) * _GOLDEN & _MASK
        self._heap: Any = heap_new()
        self._made = 0
        self._actors: list[Actor | None] = []
        """by place, as `_arguments`"""
        self._arguments: list[Any] = []
        self._caller = _Caller()

    def __dealloc__(self) -> None:
        heap_free(self._heap)

    def at(self, time: int, actor: int, action: Callable[[Any], None], argument: Any = None) -> None:
        """Call `action(argument)` at `time` ns (not before now)."""
        self.appoint(time, actor, self._caller, 0, (action, argument))

    def appoint(self, time: int, number: int, actor: Actor, what: int, argument: Any) -> None:
        """`actor.act(what, argument)` at `time` ns (not before now). `number`: of the actor, for the order."""
        self._made += 1
        place = heap_push(self._heap, time, self._tie(time, number), self._made, what)
        if place < 0:
            raise MemoryError("no memory for appointments")
        if place == len(self._actors):
            self._actors.append(actor)
            self._arguments.append(argument)
        else:
            self._actors[place], self._arguments[place] = actor, argument

    def _tie(self, time: int, number: int) -> int:
        tie = ((time * _MIX1 ^ (number + 1) * _MIX2 ^ self._salt) & _MASK) * _GOLDEN & _MASK
        return (tie ^ tie >> 29) * _MIX1 & _MASK

    def share(self, number: int, count: int) -> float:
        """A number from 0 to below 1 that depends on the seed, the actor's number and a count of its own alone."""
        found: float = self._tie(count, number) / 2.0**64
        return found

    def run(
        self, limit: int, goes_on: Callable[[], object], look: Callable[[int], bool] | None = None, every: int = 1
    ) -> bool:
        """Keep appointments while `goes_on()`. False when there is none left that is not after `limit`. `look(now)`
        is called after each `every` of them, and says whether to go on. Compiled, this is also when Python handles
        signals."""
        while goes_on():
            time = heap_first(self._heap)
            if time < 0 or time > limit:
                return False
            self._step()
            self._steps += 1
            if look is not None and self._steps >= every:
                self._steps = 0
                if not look(self.now):
                    break
        return True

    @property
    def reached(self) -> int:
        """ns; also for another thread."""
        return self.now

    def next_time(self) -> int | None:
        time = heap_first(self._heap)
        return None if time < 0 else time

    def step(self) -> None:
        """Move to the next appointment and keep it. Raises IndexError when there is none."""
        if heap_first(self._heap) < 0:
            raise IndexError("nothing is on the agenda")
        self._step()

    def _step(self) -> None:
        place = heap_pop(self._heap)
        self.now = max(heap_last(self._heap), self.floor)
        actor, argument = self._actors[place], self._arguments[place]
        self._arguments[place] = None
        assert actor is not None
        actor.act(heap_what(self._heap), argument)
