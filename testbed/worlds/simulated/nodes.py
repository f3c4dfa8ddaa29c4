"""Nodes of the simulated world: a Machine, its timer, its ports, and what becomes of it when it is paused or killed."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Mapping
from typing import NoReturn, Protocol

from switch_nodes.events import PlaneStatistics
from switch_nodes.filters import FrameFilter
from switch_nodes.own_program import accused, check_told
from switch_nodes.program_events import PROGRAM_EVENTS
from switch_nodes.tap import Tap
from testbed.worlds.queue_drops import QueueDrops
from testbed.worlds.simulated.agenda import Agenda
from testbed.worlds.simulated.wire import Wire
from workloads.livelock import MOST_AT_ONCE, MOST_TOLD_BY_HOST, Livelock, WakeWatch
from workloads.machine import Buffer, Event, FrameBatch, Machine

__all__ = ["FinishingMachine", "HostNode", "Node", "SwitchNode"]

_BACKLOG_FRAMES = 8192
"""what the socket of a node that stands still holds"""

Tell = Callable[[str, Event], None]
"""(node, event)"""


class Times(Protocol):
    """Times in ns, by number."""

    def __getitem__(self, number: int, /) -> int: ...
    def __setitem__(self, number: int, time: int, /) -> None: ...


class FinishingMachine(Machine, Protocol):
    def finish(self, now: int) -> None:
        """Queue what is told at the end: statistics, slots."""
        ...


class Node:
    """What hosts and switches share. `make` builds the Machine, anew after a kill. One that does not come to an end at
    one point of time raises: ProgramFailed where it is the user's, else Livelock."""

    is_host = True
    most_told = MOST_TOLD_BY_HOST

    def __init__(self, name: str, actor: int, agenda: Agenda, make: Callable[[], FinishingMachine], tell: Tell) -> None:
        self.name, self.machine = name, make()
        self._actor, self._agenda, self._make, self._tell = actor, agenda, make, tell
        self.wires: dict[int, Wire] = {}
        """outgoing, by port"""
        self._armed: int | None = None
        self._backlog: deque[tuple[int, Buffer]] = deque()
        self.alive, self.paused = True, False
        self._frames_in = self._bytes_in = self._overflows = 0
        self._wakes, self._told = WakeWatch(), 0
        self.wakeups = 0
        """How often its timer expired."""

    def attach(self, port: int, wire: Wire) -> None:
        """A wire that leaves from `port`."""
        self.wires[port] = wire

    def arrive(self, port: int, frame: Buffer) -> None:
        """A frame came in."""
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
        due = self.machine.get_timer()
        return bool(self._backlog) or (due is not None and due < self._agenda.now)

    @property
    def frames_out(self) -> int:
        """On all wires so far."""
        return sum(wire.frames for wire in self.wires.values())

    def kill(self) -> None:
        """Gone, with all it knew; what is on the wire or in a queue behind it goes on."""
        self.alive = False
        self._backlog.clear()

    def restart(self) -> None:
        self.machine, self.alive, self._armed = self._make(), True, None
        self.settle()

    def finish(self) -> None:
        """Tell the end of the node."""
        if self.alive:
            self.machine.finish(self._agenda.now)
            self._tell_events()
        wires = self.wires.values()
        frames_out, bytes_out = self.frames_out, sum(wire.bytes for wire in wires)
        drops = sum(wire.drops for wire in wires)
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

    def _take(self, port: int, frame: Buffer) -> None:
        self._frames_in += 1
        self._bytes_in += len(frame)
        self.machine.receive_frame(port, frame, self._agenda.now)

    def _let_leave(self) -> None:
        raise NotImplementedError

    def _tell_events(self) -> None:
        told = 0
        while (event := self.machine.next_event()) is not None:
            self._hear(event)
            told += 1
            if told >= self.most_told:
                self._is_stuck(f"it reported {told:,} events in a row at {self._agenda.now} ns")
        self._told += told

    def _hear(self, event: Event) -> None:
        self._tell(self.name, event)

    def _is_stuck(self, what: str) -> NoReturn:
        raise accused(Livelock(self.name, what, is_host=self.is_host), self.machine)

    def _arm(self) -> None:
        due = self.machine.get_timer()
        if due is not None and (self._armed is None or due < self._armed):
            self._armed = max(due, self._agenda.now)
            self._agenda.at(self._armed, self._actor, self._wake)

    def _wake(self, _: object) -> None:
        if self._armed != self._agenda.now:
            return
        self._armed = None
        if not self.alive or self.paused:
            return
        due = self.machine.get_timer()
        if due is not None and due <= self._agenda.now:
            stuck = self._wakes.woke(self._agenda.now, self._told + self.frames_out)
            if stuck:
                self._is_stuck(stuck)
            self.wakeups += 1
            self.machine.handle_timer(self._agenda.now)
            self.settle()
        else:
            self._arm()


class HostNode(Node):
    """Its NIC pulls a frame from the Machine only when the wire is free, so that a NAK turns a sender back at once."""

    def attach(self, port: int, wire: Wire) -> None:
        super().attach(port, wire)
        wire.refill = self._pull

    def _pull(self) -> Buffer | None:
        """The next frame. Called with the wire free; frames for further ports of the host are queued there."""
        if not self.alive or self.paused:
            return None
        for number, (port, frame) in enumerate(self.machine.frames_to_send(self._agenda.now)):
            self._tell_events()  # that it left again, say: here, since nothing else may happen for long
            if port == next(iter(self.wires)):
                self._arm()  # what leaves may start a timer
                return bytes(frame)
            self.wires[port].send(bytes(frame))
            if number >= MOST_AT_ONCE:
                self._is_stuck(f"it gave out {number:,} frames in a row at {self._agenda.now} ns")
        return None

    def _let_leave(self) -> None:
        for wire in self.wires.values():
            wire.kick()


class SwitchNode(Node):
    """Everything that its program gives out goes through the port's filter into the port's queue."""

    is_host = False
    most_told = MOST_AT_ONCE

    def __init__(
        self,
        name: str,
        actor: int,
        agenda: Agenda,
        make: Callable[[], FinishingMachine],
        tell: Tell,
        ingress: Mapping[int, FrameFilter],
        egress: Mapping[int, FrameFilter],
        tap: Tap | None,
    ) -> None:
        super().__init__(name, actor, agenda, make, tell)
        self._ingress, self._egress, self._tap = ingress, egress, tap
        self._queue_drops = QueueDrops()
        self._appointed: Times = defaultdict(lambda: -1)
        """by 2 * port + outgoing: when the last frame that the filter there holds back is due"""

    def arrive(self, port: int, frame: Buffer) -> None:
        found = self._ingress.get(port)
        if found is None:
            super().arrive(port, frame)
        else:
            self._pass(found, port, frame, self._enter)

    def finish(self) -> None:
        for found in (*self._ingress.values(), *self._egress.values()):
            found.finish(self._agenda.now)
            self._tell_strikes(found)
        super().finish()

    def _pass(self, found: FrameFilter, port: int, frame: Buffer, go_on: Callable[[tuple[int, Buffer]], None]) -> None:
        now, outgoing = self._agenda.now, go_on == self._leave
        deliveries = found.admit(frame, now)
        self._tell_strikes(found)
        if not deliveries and self._tap is not None:
            self._tap.dropped(port, frame, now, outgoing, "filter")
        side = 2 * port + outgoing
        for delivery in deliveries:
            if delivery.at <= now and self._appointed[side] < now:
                go_on((port, delivery.frame))
            else:  # or the one that is due right now and was not heard yet would be overtaken
                self._appointed[side] = max(delivery.at, self._appointed[side])
                self._hold(max(now, delivery.at), port, delivery.frame, outgoing=outgoing)

    def _hold(self, until: int, port: int, frame: bytes, *, outgoing: bool) -> None:
        # One actor per port and direction: the filter's order stands, other ports come in between.
        actor = self._actor + 1 + 2 * port + outgoing
        self._agenda.at(until, actor, self._leave if outgoing else self._enter, (port, frame))

    def _enter(self, arrival: tuple[int, Buffer]) -> None:
        super().arrive(*arrival)

    def _leave(self, departure: tuple[int, Buffer]) -> None:
        port, frame = departure
        wire = self.wires[port]
        reason = wire.send(frame)
        if reason:
            self._tell_dropped(wire, frame, reason)
        if self._tap is None:
            return
        if reason:
            self._tap.dropped(port, frame, self._agenda.now, True, reason)
        elif wire.cut is not None:
            self._tap.trimmed(port, wire.cut, self._agenda.now)

    def _tell_dropped(self, wire: Wire, frame: Buffer, reason: str) -> None:
        """The queue of a wire did not take a frame: told where it knows classes."""
        if wire.tells_drops and reason != "misfit":
            event = self._queue_drops.event(
                wire.link, wire.direction, frame, wire.waiting_with(frame), early=reason == "early"
            )
            self._tell(self.name, event)

    def _take(self, port: int, frame: Buffer) -> None:
        if self._tap is not None:
            self._record(port, frame, outgoing=False)
        super()._take(port, frame)

    def _let_leave(self) -> None:
        for number, (port, frame) in enumerate(self.machine.frames_to_send(self._agenda.now)):
            if number >= MOST_AT_ONCE:
                self._is_stuck(f"it gave out {number:,} frames in a row at {self._agenda.now} ns")
            if self._tap is not None:
                self._record(port, frame, outgoing=True)
            found = self._egress.get(port)
            if found is None:
                self._leave((port, bytes(frame)))
            else:
                self._pass(found, port, bytes(frame), self._leave)

    def _hear(self, event: Event) -> None:
        if type(event) not in PROGRAM_EVENTS:
            check_told(self.machine, event)
        self._tell(self.name, event)

    def _record(self, port: int, frame: Buffer, *, outgoing: bool) -> None:
        batch = FrameBatch.of(1, len(frame))
        batch.append(port, frame)
        assert self._tap is not None
        self._tap.record(batch, 0, 1, self._agenda.now, outgoing)

    def _tell_strikes(self, found: FrameFilter) -> None:
        while (event := found.next_event()) is not None:
            self._tell(self.name, event)
