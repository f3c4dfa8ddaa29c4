"""What switches have in common when their slots hold sums of blocks: the memory, counters, and a table that says what
becomes of each packet in its slot."""

from __future__ import annotations

from array import array
from collections import deque
from collections.abc import Callable
from enum import Enum
from typing import Any

from switch_nodes.aggregators.arrival import AggregatorArrival
from switch_nodes.aggregators.memory import Aggregator, Memory
from workloads.automaton import UNFORESEEN, Automaton, words
from workloads.datagrams.blocks import ContributionIgnored, PartialSent, SlotChanged, SlotMixed
from workloads.machine import Event
from workloads.quick import Quick

__all__ = ["SlotService"]


class SlotService(Quick):
    """`table`: of the enums `kinds`, states, events and actions. `counters`, `events` and `outbox` are those of the
    program. A subclass may override its methods."""

    def __init__(
        self,
        slots: int,
        table: Automaton[Any, Any, Any],
        kinds: tuple[type[Enum], type[Enum], type[Enum]],
        counters: dict[str, int],
        events: deque[Event],
        outbox: deque[tuple[int, Any]],
        *,
        traced: bool,
    ) -> None:
        Quick.__init__(self, events, outbox)
        self.memory, self._counters, self._traced = Memory(slots), counters, traced
        states, causes, actions = kinds
        self._states, self._causes = tuple(states), len(causes)
        after, chosen = table.numbered(states, causes)
        self._after: Any = array("q", after)
        self._actions: Any = array("q", chosen)
        handlers = self.handlers()
        self._handlers = [handlers[action] for action in actions]
        self._arrival = AggregatorArrival()
        self._now = 0

    def handlers(self) -> dict[Any, Callable[[AggregatorArrival], object]]:
        """What is done for each action of the table."""
        raise NotImplementedError

    def shared_handlers(self, actions: Any) -> dict[Any, Callable[[AggregatorArrival], object]]:
        """Of actions that all tables have."""
        return {
            actions.ADD: self.add,
            actions.DROP_DUPLICATE: self.drop_duplicate,
            actions.DROP_MISMATCH: self.drop_mismatch,
            actions.UNFORESEEN: self.drop_unforeseen,
        }

    def state_of(self, index: int) -> int:
        """Of a slot, by number."""
        return self.memory.state_of(index)

    def _step(self, a: AggregatorArrival, event: Any) -> None:
        before = self.state_of(a.slot)
        step = before * self._causes + event.number
        if self._traced:
            names = words(self._states[before], event, self._states[self._after[step]])
            self.events.append(SlotChanged(a.job, a.slot, 0, a.block, a.rank, *names))
        self._handlers[self._actions[step]](a)

    def add(self, a: AggregatorArrival) -> Aggregator:
        """Into its slot, which is empty or its own."""
        slot = self.memory.occupant(a.slot)
        if slot is None:
            slot = self.memory.take(a, self._now)
        self._enter(slot, a)
        return slot

    def _enter(self, slot: Aggregator, a: AggregatorArrival) -> None:
        """By what the elements are, not by what the judge took them for: the checker is there to find a wrong judge."""
        if not slot.is_of(a):
            self.events.append(SlotMixed(a.job, a.block, a.rank, a.slot, slot.served.job, slot.block))
        slot.add(a)

    def drop_duplicate(self, a: AggregatorArrival) -> None:
        self._drop(a, "duplicate")

    def drop_mismatch(self, a: AggregatorArrival) -> None:
        self._drop(a, "mismatch")

    def drop_unforeseen(self, a: AggregatorArrival) -> None:
        self._drop(a, UNFORESEEN)

    def _occupant(self, index: int) -> Aggregator:
        slot = self.memory.occupant(index)
        assert slot is not None, "the table asks for this action only of an occupied slot"
        return slot

    def _tell_partial(self, slot: Aggregator, index: int, reason: str) -> None:
        entered = tuple(slot.entered)
        self.events.append(PartialSent(slot.served.job, slot.block, index, entered, slot.bitmap, reason))

    def _drop(self, a: AggregatorArrival, reason: str) -> None:
        self._ignore(ContributionIgnored(a.job, a.rank, a.block, a.slot, reason))

    def _ignore(self, event: ContributionIgnored) -> None:
        self._count(event.reason)
        self.events.append(event)

    def _count(self, name: str) -> None:
        self._counters[name] = self._counters.get(name, 0) + 1
