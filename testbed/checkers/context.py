"""What a checker is given."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol, TypeVar, overload

from testbed.captures.pcapng import CapturedFrame
from testbed.history import Record, of_kinds
from testbed.history.events import NodeStarted
from testbed.history.records import History
from testbed.plan import Plan
from testbed.plan.rings import PlannedRing, planned_rings
from workloads.events import WorkerFellBack, WorkerFinished
from workloads.machine import Event

__all__ = ["Capture", "CheckContext", "is_training"]

_A = TypeVar("_A", bound=Event)
_B = TypeVar("_B", bound=Event)


class Capture(Protocol):
    """What one switch saw: `testbed.captures.capture.FileCapture` or `MemoryTap`."""

    @property
    def name(self) -> str:
        """For people."""
        ...

    @property
    def switch(self) -> str: ...

    def read(self) -> Iterator[tuple[str, CapturedFrame]]:
        """(interface, frame) in the order in which the machine saw them. Raises OSError and ValueError for a capture
        that cannot be read."""
        ...


@dataclass(frozen=True)
class CheckContext:
    """One finished run. Checkers read it and change nothing."""

    plan: Plan
    history: Sequence[Record]
    """in the order of `testbed.history.sort_history`"""
    captures: tuple[Path | Capture, ...] = ()
    """one per switch; a path is that of a pcapng file"""

    @cached_property
    def _found(self) -> History:
        return self.history if isinstance(self.history, History) else History(self.history)

    @overload
    def events(self, kind: type[_A], /) -> list[Record[_A]]: ...
    @overload
    def events(self, kind: type[_A], other: type[_B], /) -> list[Record[_A | _B]]: ...
    @overload
    def events(self, *kinds: type[Event]) -> list[Record]: ...
    def events(self, *kinds: type[Event]) -> list[Any]:
        """Records of these event classes, in the order of the history within each class."""
        history = self._found
        return [history[place] for kind in kinds for place in history.places(kind)]

    @property
    def workers(self) -> tuple[str, ...]:
        """Names in rank order."""
        return tuple(worker.name for worker in self.plan.workers)

    @cached_property
    def rings(self) -> tuple[PlannedRing, ...]:
        return planned_rings(self.plan.ring_workers)

    @cached_property
    def finished(self) -> frozenset[str]:
        """Workers that reported that they finished, and did not fall back afterwards."""
        done: set[str] = set()
        for record in of_kinds(self._found, WorkerFinished, WorkerFellBack):
            if isinstance(record.event, WorkerFinished):
                done.add(record.node)
            else:
                done.discard(record.node)
        return frozenset(done)

    @property
    def fell_back(self) -> bool:
        """Whether a worker started its job again without the help of the network."""
        return bool(self.events(WorkerFellBack))

    @cached_property
    def first_life(self) -> Sequence[Record]:
        """The history without what workers reported after they fell back."""
        if not self.fell_back:
            return self.history
        records, later = [], set[str]()
        for record in self.history:
            if isinstance(record.event, WorkerFellBack):
                later.add(record.node)
            if record.node not in later:
                records.append(record)
        return records

    @property
    def restarted_switches(self) -> tuple[str, ...]:
        """Switches that started more than once: no report covers what they summed before a restart."""
        return self._restarted(switch.name for switch in self.plan.switches)

    @property
    def restarted_servers(self) -> tuple[str, ...]:
        """Parameter servers that started more than once, likewise."""
        return self._restarted(server.name for server in self.plan.servers)

    def _restarted(self, names: Iterable[str]) -> tuple[str, ...]:
        started = Counter(record.node for record in self.events(NodeStarted))
        return tuple(name for name in names if started[name] > 1)

    @property
    def all_finished(self) -> bool:
        return self.finished >= set(self.workers)


def is_training(context: CheckContext) -> bool:
    """Whether processes outside the workers made the gradients. Their sizes are then reported, not planned."""
    return context.plan.workers[0].workload.kind == "external"
