"""How events of a simulated run become records. A run may report one for every few packets, so this is compiled."""

from __future__ import annotations

from collections.abc import Callable

from testbed.history.eventkinds import KNOWN_KINDS
from testbed.history.events import NodeExited, NodeStarted
from testbed.history.records import TELLS_OF_OTHERS, Record, make_record
from testbed.worlds.simulated.agenda import Agenda
from workloads.events import WorkerFailed, WorkerFellBack, WorkerFinished
from workloads.machine import Event

__all__ = ["Telling"]

_KNOWN = KNOWN_KINDS
_OF_LIVES = frozenset({WorkerFinished, WorkerFailed, WorkerFellBack, NodeExited, NodeStarted})
"""events that say who may still get somewhere"""


class Telling:
    """`on_record` gets a record of each event. `hear` also gets the events of nodes that begin or end their work."""

    def __init__(self, on_record: Callable[[Record], None], hear: Callable[[str, Event], None]) -> None:
        self._on_record, self._hear = on_record, hear
        self.agenda: Agenda | None = None
        """has the time of the records"""
        self.by_node: dict[str, int] = {}
        """number of events of each node"""

    def total(self) -> int:
        """Number of events so far."""
        return sum(self.by_node.values())

    def tell(self, node: str, event: Event) -> None:
        """Record an event that the node reports now."""
        agenda, kind = self.agenda, type(event)
        assert agenda is not None, "nodes report when they are there"
        if kind in _KNOWN and node not in TELLS_OF_OTHERS:
            self._on_record(Record(agenda.now, node, event))
        else:
            self._on_record(make_record(agenda.now, node, event))
        self.by_node[node] = self.by_node.get(node, 0) + 1
        if kind in _OF_LIVES:
            self._hear(node, event)
