"""A parameter server as a Machine: it merges what switches could not, sends results, and keeps them for those that
ask."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import replace

from workloads.datagrams.problems import refuse
from workloads.events import FrameRejected
from workloads.machine import Buffer, Event
from workloads.server.checks import problems_in_server
from workloads.server.config import ServerConfig
from workloads.server.job import Departure, JobServer
from workloads.wire.aggregation import (
    AGGREGATION_PORT,
    SEQUENCES,
    DatagramError,
    DatagramFlag,
    DatagramKind,
    decode_datagram,
    encode_datagram,
)
from workloads.wire.ecn import is_ce
from workloads.wire.inspected import nearest_packet

__all__ = ["ParameterServer", "create_server"]

_FOR_US = frozenset((DatagramKind.DATA, DatagramKind.EXPONENTS, DatagramKind.RESULT, DatagramKind.REMINDER_EMPTY))


class ParameterServer:
    """Raises ScenarioError for a configuration that cannot be served."""

    def __init__(self, config: ServerConfig, *, start_ns: int = 0) -> None:
        refuse(problems_in_server(config), owner=f"server {config.name}")
        envelope = self._envelope = config.envelope
        self._jobs = {
            job.job: JobServer(job, envelope.src_ip, asks_again=config.lives > 0, trace=config.trace)
            for job in config.jobs
        }
        self._to_members = {
            job.job: [replace(envelope, dst_mac=member.mac, dst_ip=member.ip) for member in job.members]
            for job in config.jobs
        }
        self._start_ns, self._resets = start_ns, deque(config.resets)
        self._departures: deque[Departure] = deque()
        self._events: deque[Event] = deque()

    def receive_frame(self, port: int, frame: Buffer, now: int) -> None:
        try:
            found = decode_datagram(frame)
        except DatagramError as error:
            self._events.append(FrameRejected(error.reason, str(error)))
            return
        if found is None or found.dst_ip != self._envelope.src_ip:
            return
        header = found.header
        job = self._jobs.get(header.job)
        if job is None or header.kind not in _FOR_US or not job.fits(header):
            if job is not None:
                job.counts["rejected"] += 1
            self._events.append(FrameRejected("unexpected", f"kind {header.kind} of job {header.job}"))
            return
        job.counts["bytes"] += len(frame)
        marked = is_ce(frame) or bool(header.flags & DatagramFlag.ECN)
        near = (header.sequence - 1) % SEQUENCES if job.newest is None else job.newest
        job.receive(nearest_packet(header.sequence, near), header, found.payload, marked=marked, now=now)
        self._collect(job)

    def frames_to_send(self, now: int) -> Iterator[tuple[int, bytes]]:
        while self._departures:
            rank, header, payload = self._departures.popleft()
            envelope = self._envelope if rank is None else self._to_members[header.job][rank]
            yield 0, encode_datagram(envelope, AGGREGATION_PORT, header, payload)

    def get_timer(self) -> int | None:
        timers = [due for job in self._jobs.values() if (due := job.get_timer()) is not None]
        if self._resets:
            timers.append(self._start_ns + self._resets[0].at_ns)
        return min(timers, default=None)

    def handle_timer(self, now: int) -> None:
        while self._resets and self._start_ns + self._resets[0].at_ns <= now:
            because = self._start_ns + self._resets.popleft().because_ns
            for job in self._jobs.values():
                job.reset(because)
        for job in self._jobs.values():
            job.handle_timer(now)
            self._collect(job)

    def next_event(self) -> Event | None:
        return self._events.popleft() if self._events else None

    def finish(self, now: int) -> None:
        self._events.extend(job.statistics() for job in self._jobs.values())

    def _collect(self, job: JobServer) -> None:
        self._departures.extend(job.departures)
        self._events.extend(job.events)
        job.departures.clear()
        job.events.clear()


def create_server(config: ServerConfig, start_ns: int) -> ParameterServer:
    """Raises ScenarioError for what cannot be served."""
    return ParameterServer(config, start_ns=start_ns)
