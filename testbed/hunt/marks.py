"""Marks of a protocol: states of trouble that a search should reach sometimes, found in the history of a traced run.

The Machines do not know of them, so that a mark costs a run nothing, and a protocol of the user's own can have some.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from testbed.history import Record
from testbed.hunt.search_mark import Look, SearchMark
from workloads.datagrams.blocks import BlockReplayed, BlockSummed
from workloads.events import DatagramResent
from workloads.machine import Event

__all__ = ["ASKED_TWICE", "RESULT_UNDER_WAY", "Marking", "again", "behind"]


class Marking:
    """Marks of one run."""

    def __init__(self, marks: Mapping[str, SearchMark]) -> None:
        self._by_step = dict[str, list[str]]()
        self._looks = dict[type[Event], list[tuple[str, Look]]]()
        for name, mark in marks.items():
            for step in mark.steps:
                self._by_step.setdefault(step, []).append(name)
            if mark.look is not None:
                look = mark.look()
                for kind in mark.events:
                    self._looks.setdefault(kind, []).append((name, look))

    def heeds(self, kind: type[Event], step: str | None) -> bool:
        """Whether `see` may find a mark at an event of this kind."""
        return kind in self._looks or step in self._by_step

    def see(self, record: Record, step: str | None) -> Iterator[str]:
        """Marks that are reached at a record. `step`: the step that it records, by name."""
        if step is not None:
            yield from self._by_step.get(step, ())
        for name, look in self._looks.get(type(record.event), ()):
            if look(record.event):
                yield name


def again(*fields: str) -> Callable[[], Look]:
    """An event whose `fields` equal those of an earlier one."""

    def made() -> Look:
        seen = set[tuple[object, ...]]()

        def look(event: Event) -> bool:
            key = tuple(getattr(event, name) for name in fields)
            known = key in seen
            seen.add(key)
            return known

        return look

    return made


def behind(first: type[Event], *fields: str, where: Look = lambda event: True) -> Callable[[], Look]:
    """An event of another kind than `first`, for which `where` holds, behind an event of kind `first` with equal
    `fields`."""

    def made() -> Look:
        seen = set[tuple[object, ...]]()

        def look(event: Event) -> bool:
            key = tuple(getattr(event, name) for name in fields)
            if isinstance(event, first):
                seen.add(key)
                return False
            return key in seen and where(event)

        return look

    return made


RESULT_UNDER_WAY = SearchMark(
    "a worker's timer expires when the sum of the block has left its switch or server",
    events=(BlockSummed, DatagramResent),
    look=behind(BlockSummed, "job", "block", where=lambda event: getattr(event, "cause", "") == "timeout"),
)
ASKED_TWICE = SearchMark(
    "a worker was sent a sum twice, and asks a third time",
    events=(BlockReplayed,),
    look=again("job", "rank", "block"),
)
