"""What a run did, as a set of names that can be counted: its behaviours.

A behaviour is one of four kinds:

- `step S | fault F | phase P`: a table took step S, F is the kind of fault that hit last (`none`: no fault yet), and P
  says how far the workers were.
- `edge S > T`: step T followed step S in the same table of the same node. One run may take both steps without it.
- `event E | fault F | phase P`: a node reported event E. Protocols without tables have these alone.
- `sometimes M`: a mark of `SOMETIMES` or of the protocol, a state of trouble that a search should reach.

Steps alone are soon all taken, and random schedules cover them. The last fault and the phase distinguish a step in
calm from the same step in trouble, and an edge distinguishes orders of packets. Contents of memory are left out:
values differ between any two runs, so each run would be new.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from testbed.faults.events import FaultHealed, FaultMissed, FaultStruck
from testbed.history import Record, event_name
from testbed.hunt.marks import Marking
from testbed.hunt.message_marks import MESSAGE_MARKS
from testbed.hunt.protocols import hunted_of
from testbed.hunt.search_mark import SearchMark
from testbed.hunt.transitions import step_of
from workloads.events import CollectiveCompleted, WorkerFailed, WorkerFinished
from workloads.machine import Event

__all__ = ["PHASES", "SOMETIMES", "behaviours_of", "marks_of_kind", "meanings_of_kind"]

PHASES = ("first", "later", "ending")
"""no worker has a result yet; some worker has one; some worker has finished"""
_CLOSE = 8
"""records between two hits that count as close"""

SOMETIMES: Mapping[str, str] = {
    "packet hit again": "a fault hits a packet that another hit before on this link",
    "third attempt hit": "a fault hits a packet that comes by for the third time or later",
    "two kinds at once": "faults of two kinds hit within a few steps",
    "hit after a result": "a fault hits when a worker has a result and none has finished",
    "hit after the end": "a fault hits when a worker has finished",
    "failed after a result": "a worker gives up when another has the result",
    "healed in time": "a fault ends while workers still wait",
}
"""marks of every protocol, with what they mean"""


def marks_of_kind(kind: str) -> Mapping[str, SearchMark]:
    """Marks of the protocol that hunts of a kind are in. Not those of `SOMETIMES`."""
    hunted = hunted_of(kind)
    return hunted.marks if hunted is not None else MESSAGE_MARKS


def meanings_of_kind(kind: str) -> Mapping[str, str]:
    """All marks of hunts of a kind, with what they mean."""
    return {**SOMETIMES, **{name: mark.meaning for name, mark in marks_of_kind(kind).items()}}


def behaviours_of(history: Iterable[Record], marks: Mapping[str, SearchMark]) -> frozenset[str]:
    """Of one traced run, in the order of its history. `marks`: those of its protocol."""
    fault, phase, last = "none", PHASES[0], dict[tuple[str, str], str]()
    met, general, own = set[str](), _Marks(), Marking(marks)
    for number, record in enumerate(history):
        event = record.event
        kind = type(event)
        if kind in _HEEDED:  # most records are of other kinds
            met.update(f"sometimes {mark}" for mark in general.see(number, event))
            if isinstance(event, FaultStruck):
                fault = event.kind
                continue
            if kind is CollectiveCompleted and phase == PHASES[0]:
                phase = PHASES[1]
            elif kind is WorkerFinished:
                phase = PHASES[2]
        elif kind is FaultMissed:
            continue
        step = step_of(event)
        if own.heeds(kind, step):
            met.update(f"sometimes {mark}" for mark in own.see(record, step))
        if step is None:
            met.add(f"event {event_name(event)} | fault {fault} | phase {phase}")
            continue
        met.add(f"step {step} | fault {fault} | phase {phase}")
        place = record.node, step.partition(" ")[0]
        if place in last:
            met.add(f"edge {last[place]} > {step}")
        last[place] = step
    return frozenset(met)


_HEEDED = frozenset((FaultStruck, CollectiveCompleted, WorkerFinished, WorkerFailed, FaultHealed))
"""kinds of events that change the phase or the fault, or reach a mark of `SOMETIMES`"""


class _Marks:
    """What `SOMETIMES` needs to know of the records so far."""

    def __init__(self) -> None:
        self._hits = dict[tuple[str, str, str, str, int], str]()
        """fault that hit a packet, by link, direction and identity"""
        self._at, self._kind = -_CLOSE - 1, ""
        self._result, self._finished = False, False

    def see(self, number: int, event: Event) -> Iterator[str]:
        """Marks that record `number` reaches."""
        if isinstance(event, FaultStruck):
            yield from self._hit(number, event)
        elif isinstance(event, CollectiveCompleted):
            self._result = True
        elif isinstance(event, WorkerFinished):
            self._finished = True
        elif isinstance(event, WorkerFailed) and self._result:
            yield "failed after a result"
        elif isinstance(event, FaultHealed) and not self._finished:
            yield "healed in time"

    def _hit(self, number: int, event: FaultStruck) -> Iterator[str]:
        if event.flow or event.packet:
            identity = event.target, event.direction, event.flow, event.packet, event.psn
            if self._hits.setdefault(identity, event.fault) != event.fault:
                yield "packet hit again"
        if event.occurrence >= 3:
            yield "third attempt hit"
        if number - self._at <= _CLOSE and event.kind != self._kind:
            yield "two kinds at once"
        self._at, self._kind = number, event.kind
        if self._finished:
            yield "hit after the end"
        elif self._result:
            yield "hit after a result"
