"""Records: which node reported which event when. Everything that people and checkers see of a run comes from them.

As JSON (`testbed.history.codec`): `{"t": ns since the start, "node": name, "event": class name, ...fields of the
event}`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, islice
from operator import attrgetter, le
from typing import Any, Generic, cast

from typing_extensions import TypeVar

from testbed.history.eventkinds import KNOWN_KINDS
from testbed.scenario.model import CONTROLLER
from workloads.codec import field_values
from workloads.machine import Event

__all__ = ["OwnEvent", "Record", "event_name", "make_record", "of_kind", "of_kinds", "sort_history"]

_E_co = TypeVar("_E_co", bound=Event, default=Event, covariant=True)
_E = TypeVar("_E", bound=Event)
_TELLS_OF_OTHERS = ("world", CONTROLLER)


@dataclass(frozen=True, slots=True)
class OwnEvent(Event):
    """An event of a user's own switch program: only that program knows the class."""

    name: str
    fields: Mapping[str, Any]
    """JSON values"""


@dataclass(frozen=True, slots=True)
class Record(Generic[_E_co]):
    t: int
    """ns since the start of the traffic"""
    node: str
    """node that reported the event, or that the event is about"""
    event: _E_co

    @property
    def name(self) -> str:
        """Of the event's class."""
        return event_name(self.event)


def event_name(event: Event) -> str:
    return event.name if isinstance(event, OwnEvent) else type(event).__name__


def make_record(t: int, node: str, event: Event) -> Record:
    """The world and a controller may report an event about a node that the event names itself. No other node may."""
    if type(event) not in KNOWN_KINDS:
        event = OwnEvent(type(event).__name__, field_values(event))
    if node in _TELLS_OF_OTHERS:
        node = getattr(event, "node", node)
    return Record(t, node, event)


def of_kind(history: Iterable[Record], kind: type[_E]) -> list[Record[_E]]:
    """Those whose event is of this class."""
    return [cast("Record[_E]", record) for record in history if isinstance(record.event, kind)]


def of_kinds(history: Iterable[Record], *kinds: type[Event]) -> list[Record]:
    """Those whose event is of one of these classes."""
    wanted = frozenset(kinds)
    return [record for record in history if type(record.event) in wanted]


def sort_history(records: Iterable[Record]) -> list[Record]:
    """By time; equal times by node; each node's own order is kept."""
    found = list(records)
    if not is_in_time_order(found):
        found.sort(key=_time_of)
    return [record for span in spans_of_time(found) for record in sorted(span, key=node_of)]


def is_in_time_order(records: Sequence[Record]) -> bool:
    """True for what nearly all worlds report. A sort of millions of records then needs no list of keys."""
    return all(map(le, map(_time_of, records), islice(map(_time_of, records), 1, None)))


def spans_of_time(records: Iterable[Record]) -> Iterator[list[Record]]:
    """Neighbours of equal time."""
    return (list(span) for _, span in groupby(records, _time_of))


_time_of: Callable[[Record], int] = attrgetter("t")
node_of: Callable[[Record], str] = attrgetter("node")
place_of: Callable[[Record], tuple[int, str]] = attrgetter("t", "node")
"""Its place in a sorted history."""
