"""Fakes around a data plane: sockets in virtual time, filters, a tap."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from switch_nodes.dataplane import DataPlane, EmulatedClock, PlaneControl, PlaneTiming, PortStages
from switch_nodes.dataplane.packet_io import IoCounters, PacketIo, Rows, SendOutcome
from switch_nodes.events import PlaneStatistics
from switch_nodes.filters import Delivery
from tests.support.machines import Forwarder, Rang
from workloads.machine import Buffer, Event, FrameBatch, Machine

__all__ = ["FakeIo", "ListTap", "RuleFilter", "clock_of", "frame", "plane_of", "run"]


class FakeIo:
    """Frames arrive by a script of (at, port, frame), in time order; time passes only while the loop sleeps. When
    nothing can wake the loop any more, the control socket becomes ready."""

    def __init__(self, arrivals: Sequence[tuple[int, int, bytes]] = (), *, ports: int = 4, stride: int = 2048) -> None:
        self.ports, self.stride = ports, stride
        self.arrivals = deque(arrivals)
        self.now = 0
        self.wake_late_ns = 0
        """added to every sleep that a timeout ended"""
        self.control_ready = False
        self.refused = 0
        self.sent: list[tuple[int, int, bytes]] = []
        self.timeouts: list[int] = []
        self.capacity: int | None = None
        """frames that the queue of the sockets holds; None: any number"""
        self.queued = 0
        self.drain_ns = 1000
        """a full queue takes so long to become empty"""
        self.outcome_of: Callable[[bytes], SendOutcome] = lambda frame: SendOutcome.SENT
        self._wants_room = False

    def clock(self) -> int:
        return self.now

    def attach(self, batch: FrameBatch) -> Rows:
        return Rows(batch, np.zeros(batch.capacity, np.uint8))

    def receive(self, rows: Rows, timeout_ns: int) -> int:
        self.timeouts.append(timeout_ns)
        assert len(self.timeouts) < 3_000, "the loop spins"
        wakers = []
        if self.arrivals:
            wakers.append(max(self.arrivals[0][0], self.now))
        if timeout_ns >= 0:
            wakers.append(self.now + timeout_ns + (self.wake_late_ns if timeout_ns else 0))
        if self._wants_room:
            wakers.append(self.now + self.drain_ns)
        self.control_ready = not wakers
        if wakers:
            self.now = min(wakers)
        if self._wants_room and self.now >= max(wakers):
            self.queued, self._wants_room = 0, False
        rows.batch.count = 0
        while self.arrivals and self.arrivals[0][0] <= self.now and rows.batch.count < rows.batch.capacity:
            rows.batch.append(*self.arrivals.popleft()[1:])
        return rows.batch.count

    def room(self) -> int:
        if self.capacity is None:
            return 1 << 30
        self._wants_room = self.queued >= self.capacity
        return self.capacity - self.queued

    def send(self, rows: Rows, count: int, fresh: bool) -> int:
        self.refused = 0
        if fresh:
            rows.outcomes[:count] = SendOutcome.WAITING
        for row in range(count):
            if rows.outcomes[row] != SendOutcome.WAITING:
                continue
            frame = bytes(rows.batch.row(row))
            outcome = self.outcome_of(frame)
            if self.capacity is not None and self.queued >= self.capacity:
                self._wants_room = True
                continue
            if outcome is SendOutcome.SENT:
                self.sent.append((self.now, int(rows.batch.ports[row]), frame))
                self.queued += 1
            else:
                self.refused += 1
            rows.outcomes[row] = outcome
        return int(np.count_nonzero(rows.outcomes[:count] == SendOutcome.WAITING))

    def counters(self) -> IoCounters:
        return IoCounters(frames_out=len(self.sent))

    def close(self) -> None:
        pass


class RuleFilter:
    """`rule(frame, now)` gives the deliveries; None: it passes untouched."""

    def __init__(self, rule: Callable[[bytes, int], tuple[Delivery, ...] | None]) -> None:
        self._rule = rule
        self.asked: list[bytes] = []
        self.passed: list[bytes] = []
        self.events: deque[Event] = deque()

    def finish(self, now: int) -> None:
        pass

    def screen(self, batch: FrameBatch, start: int, now: int) -> NDArray[np.bool_]:
        frames = [bytes(batch.row(row)) for row in range(start, batch.count)]
        answer = np.array([self._rule(frame, now) is None for frame in frames], np.bool_)
        self.passed += [frame for frame, passes in zip(frames, answer, strict=True) if passes]
        return answer

    def admit(self, frame: Buffer, now: int) -> tuple[Delivery, ...]:
        copy = bytes(frame)
        self.asked.append(copy)
        self.events.append(Rang(now, now))
        deliveries = self._rule(copy, now)
        return (Delivery(now, copy),) if deliveries is None else deliveries

    def next_event(self) -> Event | None:
        return self.events.popleft() if self.events else None


class ListTap:
    """Remembers all it is told."""

    def __init__(self) -> None:
        self.records: list[tuple[int, bool, int, bytes]] = []
        """(now, outgoing, port, frame)"""
        self.lost: list[tuple[int, bool, int, bytes, str]] = []
        self.cut: list[tuple[int, int, bytes]] = []

    def record(self, batch: FrameBatch, start: int, stop: int, now: int, outgoing: bool) -> None:
        for row in range(start, stop):
            self.records.append((now, outgoing, int(batch.ports[row]), bytes(batch.row(row))))

    def dropped(self, port: int, frame: Buffer, now: int, outgoing: bool, reason: str) -> None:
        self.lost.append((now, outgoing, port, bytes(frame), reason))

    def trimmed(self, port: int, frame: Buffer, now: int) -> None:
        self.cut.append((now, port, bytes(frame)))

    def close(self) -> None:
        pass


def frame(number: int, size: int = 64) -> bytes:
    return number.to_bytes(4, "big") + bytes(size - 4)


def clock_of(io: FakeIo, dilation: int = 1) -> EmulatedClock:
    def sleep(seconds: float) -> None:
        io.now += round(seconds * 1e9)

    return EmulatedClock(dilation, read=io.clock, sleep=sleep)


def plane_of(
    machine: Machine, interfaces: Sequence[str] = (), *, io: PacketIo | None = None, **options: Any
) -> DataPlane:
    """A plane from flat options: each goes to the group that has it."""
    groups = {
        group: group(**{name: options.pop(name) for name in _names(group) & options.keys()})
        for group in (PlaneControl, PortStages, PlaneTiming)
    }
    control, stages, timing = groups.values()
    return DataPlane(machine, interfaces, control, stages=stages, timing=timing, io=io, **options)


def _names(group: type) -> set[str]:
    return {each.name for each in fields(group)}


def run(io: FakeIo, machine: Forwarder, **options: Any) -> tuple[PlaneStatistics, list[tuple[int, Event]]]:
    """Until nothing can happen any more."""
    events: list[tuple[int, Event]] = []
    chosen: dict[str, Any] = {"backpressure": False, "on_control": lambda: False, "clock": clock_of(io)} | options
    plane = plane_of(machine, on_event=lambda now, event: events.append((now, event)), io=io, **chosen)
    return plane.run(0), events
