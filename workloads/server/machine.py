"""A parameter server as a Machine: it merges what switches could not, sends results, and keeps them for those that
ask."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any

import cython

from workloads.datagrams.arrival import Arrival
from workloads.datagrams.problems import refuse
from workloads.events import FrameRejected
from workloads.machine import Buffer, Event
from workloads.quick import Quick
from workloads.server.checks import problems_in_server
from workloads.server.config import ServerConfig
from workloads.server.job import JobServer
from workloads.wire.aggregation import SEQUENCES, DatagramError, DatagramKind, decode_datagram

if not cython.compiled:
    from workloads.kernels import NEVER
    from workloads.wire.inspected import address_of, is_sound, nearest_packet

__all__ = ["ParameterServer", "create_server"]

_FOR_US = sum(
    1 << kind for kind in (DatagramKind.DATA, DatagramKind.EXPONENTS, DatagramKind.RESULT, DatagramKind.REMINDER_EMPTY)
)
_SEQUENCES = SEQUENCES


class ParameterServer(Quick):
    """Raises ScenarioError for a configuration that cannot be served."""

    def __init__(self, config: ServerConfig, *, start_ns: int = 0) -> None:
        refuse(problems_in_server(config), owner=f"server {config.name}")
        Quick.__init__(self, deque(), deque())
        self._address = int.from_bytes(config.envelope.src_ip, "big")
        self._jobs = {
            job.job: JobServer(job, config.envelope, asks_again=config.lives > 0, trace=config.trace)
            for job in config.jobs
        }
        self._start_ns, self._resets = start_ns, deque(config.resets)
        self._found = Arrival()

    @property
    def quick(self) -> Quick:
        """Itself."""
        return self

    def receive_frame(self, port: int, frame: Buffer, now: int) -> None:
        self.take(port, bytes(frame), now)

    def take(self, port: int, frame: bytes, now: int) -> None:
        if not is_sound(frame):
            try:
                decode_datagram(frame)  # which says why
            except DatagramError as error:
                self.events.append(FrameRejected(error.reason, str(error)))
            return
        if address_of(frame, True) != self._address:
            return
        found = self._found
        found.read(frame)
        job = self._jobs.get(found.job)
        if job is None or not _FOR_US >> found.kind & 1 or not job.fits(found):
            if job is not None:
                job.count("rejected", 1)
            self.events.append(FrameRejected("unexpected", f"kind {found.kind} of job {found.job}"))
            return
        job.count("bytes", len(frame))
        near = (found.sequence - 1) % _SEQUENCES if job.newest < 0 else job.newest
        job.receive(nearest_packet(found.sequence, near), found, now)
        self._collect(job)

    def frames_to_send(self, now: int) -> Iterator[tuple[int, bytes]]:
        while (frame := self.give(now)) is not None:
            yield 0, frame

    def give(self, now: int) -> bytes | None:
        if not self.outbox:
            return None
        outbox: deque[Any] = self.outbox
        frame: bytes = outbox.popleft()
        return frame

    def get_timer(self) -> int | None:
        due = self.due()
        return None if due == NEVER else due

    def due(self) -> int:
        due = NEVER
        for job in self._jobs.values():
            timer = job.get_timer()
            if timer is not None and timer < due:
                due = timer
        if self._resets and self._start_ns + self._resets[0].at_ns < due:
            due = self._start_ns + self._resets[0].at_ns
        return due

    def handle_timer(self, now: int) -> None:
        self.wake(now)

    def wake(self, now: int) -> None:
        while self._resets and self._start_ns + self._resets[0].at_ns <= now:
            because = self._start_ns + self._resets.popleft().because_ns
            for job in self._jobs.values():
                job.reset(because)
        for job in self._jobs.values():
            job.handle_timer(now)
            self._collect(job)

    def next_event(self) -> Event | None:
        events: deque[Event] = self.events
        return events.popleft() if events else None

    def finish(self, now: int) -> None:
        self.events.extend([job.statistics() for job in self._jobs.values()])

    def _collect(self, job: JobServer) -> None:
        if job.departures:
            outbox: deque[Any] = self.outbox
            outbox.extend(job.departures)
            job.departures.clear()
        if job.events:
            self.events.extend(job.events)
            job.events.clear()


def create_server(config: ServerConfig, start_ns: int) -> ParameterServer:
    """Raises ScenarioError for what cannot be served."""
    return ParameterServer(config, start_ns=start_ns)
