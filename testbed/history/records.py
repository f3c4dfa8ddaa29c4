"""Records: which node reported which event when. Everything that people and checkers see of a run comes from them.

As JSON (`testbed.history.codec`): `{"t": ns since the start, "node": name, "event": class name, ...fields of the
event}`.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, groupby, islice
from operator import attrgetter, le
from typing import Any, Generic, cast

from typing_extensions import TypeVar

from testbed.history.building import hasten
from testbed.history.eventkinds import KNOWN_KINDS
from testbed.scenario.model import CONTROLLER
from workloads.codec import field_values
from workloads.machine import Event

__all__ = [
    "TELLS_OF_OTHERS",
    "History",
    "OwnEvent",
    "Record",
    "event_name",
    "make_record",
    "of_kind",
    "of_kinds",
    "sort_history",
]

_E_co = TypeVar("_E_co", bound=Event, default=Event, covariant=True)
_E = TypeVar("_E", bound=Event)
TELLS_OF_OTHERS = frozenset({"world", CONTROLLER})
"""nodes whose events may be about another one"""


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


hasten(Record)


def event_name(event: Event) -> str:
    return event.name if isinstance(event, OwnEvent) else type(event).__name__


def make_record(t: int, node: str, event: Event) -> Record:
    """The world and a controller may report an event about a node that the event names itself. No other node may."""
    if type(event) not in KNOWN_KINDS:
        event = OwnEvent(type(event).__name__, field_values(event))
    if node in TELLS_OF_OTHERS:
        node = getattr(event, "node", node)
    return Record(t, node, event)


class History(list[Record]):
    """Records in the order of `sort_history`. It knows where those of each kind are: a run may have millions."""

    _known = -1
    """records that `_places` knows"""
    _places: dict[type[Event], array[int]]

    def places(self, kind: type[Event]) -> Sequence[int]:
        """Of the records whose event is of this class, not of one below it."""
        return self._index().get(kind, ())

    def kinds(self) -> Iterable[type[Event]]:
        return self._index()

    def _index(self) -> dict[type[Event], array[int]]:
        if self._known != len(self):
            found: dict[type[Event], array[int]] = {}
            for place, record in enumerate(self):
                kind = type(record.event)
                if kind not in found:
                    found[kind] = array("q")
                found[kind].append(place)
            self._places, self._known = found, len(self)
        return self._places


def of_kind(history: Iterable[Record], kind: type[_E]) -> list[Record[_E]]:
    """Those whose event is of this class."""
    if isinstance(history, History):
        return cast(
            "list[Record[_E]]", of_kinds(history, *(each for each in history.kinds() if issubclass(each, kind)))
        )
    return [cast("Record[_E]", record) for record in history if isinstance(record.event, kind)]


def of_kinds(history: Iterable[Record], *kinds: type[Event]) -> list[Record]:
    """Those whose event is of one of these classes."""
    wanted = frozenset(kinds)
    if isinstance(history, History):
        places = [found for kind in wanted if (found := history.places(kind))]
        return [history[place] for place in (places[0] if len(places) == 1 else sorted(chain(*places)))]
    return [record for record in history if type(record.event) in wanted]


def sort_history(records: Iterable[Record]) -> History:
    """By time; equal times by node; each node's own order is kept."""
    found = list(records)
    if not is_in_time_order(found):
        found.sort(key=_time_of)
    return History(
        chain.from_iterable(span if len(span) == 1 else sorted(span, key=node_of) for span in spans_of_time(found))
    )


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
