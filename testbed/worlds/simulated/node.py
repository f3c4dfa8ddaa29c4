"""What hosts and switches of the simulated world share: a Machine, its timer, its wires, and what becomes of it when it
is paused or killed."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any, NoReturn

import cython

from switch_nodes.events import PlaneStatistics
from switch_nodes.own_program import accused
from testbed.worlds.simulated.agenda import Agenda
from testbed.worlds.simulated.finishing import FinishingMachine
from testbed.worlds.simulated.wire import Station, Wire
from workloads import livelock
from workloads.livelock import Livelock, WakeWatch
from workloads.machine import Event
from workloads.quick import Quick, quick_of

if not cython.compiled:
    from workloads.kernels import NEVER

__all__ = ["SimulatedNode", "Tell"]

_BACKLOG_FRAMES = 8192
"""what the socket of a node that stands still holds"""
_WAKE = 0
"""the appointment of each node"""

Tell = Callable[[str, Event], None]
"""(node, event)"""


class SimulatedNode(Station):
    """What hosts and switches share. `make` builds the Machine, again after a kill. A Machine that is `quick` is asked
    without its verbs. One that does not come to an end at one point of time raises: ProgramFailed where it is the
    user's, else Livelock."""

    is_host = True

    def __init__(self, name: str, actor: int, agenda: Agenda, make: Callable[[], FinishingMachine], tell: Tell) -> None:
        self.name = name
        self._actor, self._agenda, self._make, self._tell = actor, agenda, make, tell
        self.wires: dict[int, Wire] = {}
        """outgoing, by port"""
        self._armed = NEVER
        """when its alarm goes off"""
        self._quick: Quick | None = None
        self._by_verbs = False
        self.machine = make()
        self._backlog: deque[tuple[int, bytes]] = deque()
        self.alive, self.paused = True, False
        self._frames_in = self._bytes_in = self._overflows = 0
        self._wakes, self._told = WakeWatch(), 0
        self.wakeups = 0
        """How often its timer expired."""
        self._most_at_once = livelock.MOST_AT_ONCE
        self._most_told = livelock.MOST_TOLD_BY_HOST if self.is_host else self._most_at_once

    @property
    def machine(self) -> FinishingMachine:
        return self._machine

    @machine.setter
    def machine(self, machine: FinishingMachine) -> None:
        self._machine, self._quick = machine, None if self._by_verbs else quick_of(machine)

    def attach(self, port: int, wire: Wire) -> None:
        """A wire that leaves from `port`."""
        self.wires[port] = wire

    def act(self, what: int, argument: Any) -> None:
        self._wake()

    def arrive(self, port: int, frame: bytes) -> None:
        if not self.alive:
            return
        if self.paused:
            if len(self._backlog) < _BACKLOG_FRAMES:
                self._backlog.append((port, frame))
            else:
                self._overflows += 1
            return
        self._take(port, frame)
        self.settle()

    def start(self) -> None:
        self.settle()

    def pause(self) -> None:
        self.paused = True

    def resume(self) -> bool:
        """Whether it would have done something, had it not stood still."""
        late, frames = self.is_late(), self.frames_out
        self.paused = False
        if self.alive:
            while self._backlog:
                self._take(*self._backlog.popleft())
            self.settle_now()
        return late or self.frames_out > frames

    def is_late(self) -> bool:
        """Whether it stands still, and a frame waits for it or a timer of its is over."""
        if not self.paused or not self.alive:
            return False
        return bool(self._backlog) or self._due() < self._agenda.now

    @property
    def frames_out(self) -> int:
        """On all wires so far."""
        return sum(wire.frames for wire in self.wires.values())

    def kill(self) -> None:
        """Gone, with all it knew; what is on the wire or in a queue behind it goes on."""
        self.alive = False
        self._backlog.clear()

    def restart(self) -> None:
        self.machine, self.alive = self._make(), True
        self.set_armed(NEVER)
        self.settle()

    def finish(self) -> None:
        """Tell the end of the node."""
        if self.alive:
            self.machine.finish(self._agenda.now)
            self._tell_events()
        frames_out, wires = self.frames_out, self.wires.values()
        bytes_out, drops = sum(wire.bytes for wire in wires), sum(wire.drops for wire in wires)
        self._tell(
            self.name,
            PlaneStatistics(
                frames_in=self._frames_in, frames_out=frames_out, bytes_in=self._bytes_in, bytes_out=bytes_out,
                socket_drops=self._overflows, queue_drops=drops, cpu_ns=0, wall_ns=self._agenda.now, wakeups=0,
                lag_p99_ns=0, lag_max_ns=0, deadlines=0, batches=0, largest_batch=0,
                peak_rss_bytes=0,
            ),
        )  # fmt: skip

    def settle(self) -> None:
        """After the Machine did something: collect its events, let frames leave, set the alarm."""
        self._let_leave()
        self._tell_events()
        self._arm()

    def settle_now(self) -> None:
        """Settle, and be done with it when this returns."""
        self.settle()

    def _take(self, port: int, frame: bytes) -> None:
        self._frames_in += 1
        self._bytes_in += len(frame)
        now = self._agenda.now
        self.machine.receive_frame(port, frame, now) if self._quick is None else self._quick.take(port, frame, now)

    def _let_leave(self) -> None:
        raise NotImplementedError

    def _tell_events(self) -> None:
        if self._quick is not None:
            events = self._quick.events
            while events:
                self._told += 1
                self._hear(events.popleft())
            return
        told = 0
        while (event := self.machine.next_event()) is not None:
            self._hear(event)
            told += 1
            if told >= self._most_told:
                self._is_stuck(f"it reported {told:,} events in a row at {self._agenda.now} ns")
        self._told += told

    def _hear(self, event: Event) -> None:
        self._tell(self.name, event)

    def _is_stuck(self, what: str) -> NoReturn:
        raise accused(Livelock(self.name, what, is_host=self.is_host), self.machine)

    def armed(self) -> int:
        """When its alarm goes off."""
        return self._armed

    def set_armed(self, when: int) -> None:
        self._armed = when

    def _due(self) -> int:
        if self._quick is not None:
            return self._quick.due()
        due = self.machine.get_timer()
        return NEVER if due is None else due

    def _arm(self) -> None:
        due = self._due()
        if due < self.armed():
            due = max(due, self._agenda.now)
            self.set_armed(due)
            self._agenda.appoint(due, self._actor, self, _WAKE, None)

    def _wake(self) -> None:
        now = self._agenda.now
        if self.armed() > now:  # it was set again since; an appointment that is kept late is over
            return
        self.set_armed(NEVER)
        if not self.alive or self.paused:
            return
        if self._due() > now:
            self._arm()
            return
        stuck = self._wakes.woke(now, self._told + self.frames_out)
        if stuck:
            self._is_stuck(stuck)
        self.wakeups += 1
        self.machine.handle_timer(now) if self._quick is None else self._quick.wake(now)
        self.settle()
