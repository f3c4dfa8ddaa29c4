"""What every switch program is: a Machine that can be stopped, with the queues and counters that all of them need."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from switch_nodes.config import RingConfig, SwitchConfig
from switch_nodes.events import SwitchStatistics
from workloads.machine import Buffer, Event, Machine

__all__ = [
    "CompiledSums",
    "LetsJobsGo",
    "ProgramBase",
    "SlotWait",
    "SwitchProgram",
    "TakesRings",
    "bytes_in_slots",
    "slot_waits",
    "slots_of",
]


@runtime_checkable
class SwitchProgram(Machine, Protocol):
    """A Machine on the ports of one switch."""

    def finish(self, now: int) -> None:
        """Called once when the switch stops: queues the last events, SwitchStatistics among them."""
        ...


class CompiledSums(SwitchProgram, Protocol):
    """A program whose sums the compiled loop of virtual time makes."""

    @property
    def compiled(self) -> tuple[int, int] | None:
        """Addresses of the `struct netreduce_switch` and of its queue; None: this one takes all frames itself."""
        ...

    def catch_up(self) -> None:
        """Behind the compiled loop: collect what it counted and noted."""
        ...

    def logged(self, kind: int, index: int, rank: int, message: int, offset: int) -> Event:
        """The event that an entry of the log of the compiled loop stands for."""
        ...


@runtime_checkable
class TakesRings(SwitchProgram, Protocol):
    """A program that takes other rings while it runs."""

    def install(self, rings: Sequence[RingConfig]) -> None:
        """Raises ScenarioError for rings that cannot be installed."""
        ...


@runtime_checkable
class LetsJobsGo(SwitchProgram, Protocol):
    """A program whose jobs may leave while it runs."""

    @property
    def serving(self) -> Collection[int]:
        """Ids of jobs."""
        ...

    def depart(self, job: int) -> bool:
        """Whether it served that job."""
        ...


def slots_of(program: object) -> int | None:
    """Of its memory, in use right now. None: it has none, or does not report it."""
    found = getattr(program, "slots_in_use", None)
    return found if isinstance(found, int) else None


@dataclass(frozen=True, slots=True)
class SlotWait:
    """Packets that wait in one slot."""

    held: Mapping[int, int]
    """bytes by the port by which they came"""
    missing: frozenset[int]
    """ports by which the packets must come that the slot lacks"""


def bytes_in_slots(program: object) -> Mapping[int, int]:
    """Bytes of packets that wait in slots, by the port by which they came. Empty: none does, or the program does not
    report it."""
    found = getattr(program, "bytes_in_slots", None)
    return {} if found is None else found()


def slot_waits(program: object) -> Sequence[SlotWait]:
    """The same slot by slot, with what each waits for."""
    found = getattr(program, "slot_waits", None)
    return () if found is None else found()


class ProgramBase:
    """Queues of frames and events, counters, no timer. A program overrides `receive_frame`, and the rest as it needs.

    `counter_names` are the counters that start at zero, so that a reader can distinguish "never" from "not counted".
    """

    counter_names: tuple[str, ...] = ()

    def __init__(self, config: SwitchConfig) -> None:
        self.config = config
        self.counters: dict[str, int] = dict.fromkeys(self.counter_names, 0)
        self._frames: deque[tuple[int, Buffer]] = deque()
        self._events: deque[Event] = deque()

    def receive_frame(self, port: int, frame: Buffer, now: int) -> None:
        raise NotImplementedError

    def frames_to_send(self, now: int) -> Iterator[tuple[int, Buffer]]:
        while self._frames:
            yield self._frames.popleft()

    def get_timer(self) -> int | None:
        return None

    def handle_timer(self, now: int) -> None:
        pass

    def next_event(self) -> Event | None:
        return self._events.popleft() if self._events else None

    def finish(self, now: int) -> None:
        self.tell(SwitchStatistics(dict(self.counters)))

    @property
    def slots_in_use(self) -> int | None:
        """Of its memory, right now; None: it has none."""
        return None

    def emit(self, port: int, frame: Buffer) -> None:
        """Queue a frame that belongs to this program (no copy is made)."""
        self._frames.append((port, frame))

    def tell(self, event: Event) -> None:
        self._events.append(event)

    def count(self, name: str, amount: int = 1) -> None:
        self.counters[name] = self.counters.get(name, 0) + amount
