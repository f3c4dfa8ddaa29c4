"""An RC endpoint whose queue pairs are those of an RDMA device: the verbs of `RcEndpoint`, so the same `WorkerMachine`
and the same collectives run on it.

Rules of this file
- QPNs, rkeys and addresses of the user are planned ones, drawn before any device existed. Requests and completions use
  them. `real_qpn`, `region_of` and `connect` return the real ones, and events use the real QPN, as captures do.
- A message is copied into registered memory when it goes to the device, so the user's segments need no registration and
  may be of any number. The copy is reused after the message's completion.
- Neither queue of the device overflows: what has no room waits here, in order (rule G of `docs/netreduce.md`).
- The device handles frames, and `handle_timer` takes its completions. The timer is always set: at once while they come,
  a little later while they do not.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from ipaddress import ip_address

import numpy as np

from workloads.config import QpConfig
from workloads.events import NicCounters, QpFailed
from workloads.machine import Buffer, Event, FrameBatch
from workloads.rc import SUCCESS, Completion, ReceiveCompleted, ReceiveRequest, SendCompleted, SendRequest, rto_ns
from workloads.rc.transport import RELIABLE
from workloads.verbs.nic import Nic, Region, WorkCompletion

__all__ = ["PeerNames", "VerbsEndpoint"]

_after = RELIABLE.after

_BUSY_NS = 0
_IDLE_NS = 300_000  # between polls that find nothing: the NIC's processor may be ours, as with rdma_rxe
_FLUSH = "FLUSH"
_LEAST_BUFFER = 4096


@dataclass(frozen=True, slots=True)
class PeerNames:
    """The real names at the other end of a queue pair."""

    qpn: int
    rkey: int = 0
    va_offset: int = 0
    """real address less planned address of the memory to WRITE to"""


@dataclass(slots=True, eq=False)
class _Buffer:
    memory: memoryview
    region: Region


@dataclass(slots=True, eq=False)
class _Sent:
    wr_id: int
    packets: int
    buffer: _Buffer


@dataclass(slots=True, eq=False)
class _QueuePair:
    config: QpConfig
    qpn: int
    """the device's"""
    peer: PeerNames | None = None
    sent: deque[_Sent] = field(default_factory=deque)
    """posted to the device, not completed"""
    sends: deque[SendRequest] = field(default_factory=deque)
    """waiting"""
    received: int = 0
    """receive requests that the device holds"""
    receives: deque[ReceiveRequest] = field(default_factory=deque)
    packets: int = 0
    """packets of messages that are posted and not acknowledged, waiting ones included"""
    acked_packets: int = 0
    failed: bool = False


class VerbsEndpoint:
    """One step more than `RcEndpoint`: `connect` with the peer's names brings a queue pair to RTS; what is posted
    before then waits."""

    def __init__(self, nic: Nic) -> None:
        self._nic = nic
        self._qps: dict[int, _QueuePair] = {}  # by planned number
        self._by_real: dict[int, _QueuePair] = {}
        self._regions: dict[int, Region] = {}
        self._known: dict[int, tuple[object, Region]] = {}  # id of the object that owns memory -> itself, its region
        self._free: list[_Buffer] = []
        self._anchor = self._register(memoryview(bytearray(_LEAST_BUFFER)), remote=False)  # for requests without bytes
        self._completions: deque[Completion] = deque()
        self._events: deque[Event] = deque()
        self._due = 0
        self._counted = nic.counters()

    def add_qp(self, config: QpConfig) -> None:
        """Raises ValueError when the number is taken, HostCapabilityError when the device makes no more."""
        if config.qpn in self._qps:
            raise ValueError(f"QP {config.qpn:#x} exists already")
        qp = _QueuePair(config, self._nic.create_qp(config))
        self._qps[config.qpn] = self._by_real[qp.qpn] = qp

    def add_qps(self, configs: Iterable[QpConfig]) -> None:
        """As `add_qp` for each."""
        for config in configs:
            self.add_qp(config)

    def register_memory(self, rkey: int, base_va: int, memory: memoryview, *, endless: bool = False) -> None:
        """As `RcEndpoint.register_memory`, but never `endless`; peers reach it by the names of `region_of`."""
        if memory.readonly:
            raise ValueError(f"the memory of rkey {rkey:#x} is read-only")
        if rkey in self._regions:
            raise ValueError(f"rkey {rkey:#x} is registered already")
        self._regions[rkey] = self._register(memory, remote=True)

    def real_qpn(self, qpn: int) -> int:
        return self._qps[qpn].qpn

    def region_of(self, rkey: int) -> Region | None:
        """What was registered under a planned key."""
        return self._regions.get(rkey)

    def connect(self, qpn: int, peer: PeerNames) -> None:
        """Bring a queue pair to RTS."""
        qp = self._qps[qpn]
        self._nic.connect(qp.qpn, qp.config, peer.qpn)
        qp.peer = peer
        self._post_sends(qp)

    def post_send(self, qpn: int, request: SendRequest, now: int) -> None:
        """As `RcEndpoint.post_send`."""
        qp = self._qps[qpn]
        qp.packets += self._packets(qp, request)
        qp.sends.append(request)
        self._post_sends(qp)

    def post_receives(self, qpn: int, requests: Sequence[ReceiveRequest]) -> None:
        qp = self._qps[qpn]
        if not qp.failed:
            qp.receives.extend(requests)
            self._post_receives(qp)

    def outstanding_packets(self, qpn: int) -> int:
        return self._qps[qpn].packets

    def next_completion(self) -> Completion | None:
        return self._completions.popleft() if self._completions else None

    @property
    def has_news(self) -> bool:
        return bool(self._completions or self._events)

    def statistics(self) -> tuple[Event, ...]:
        """What the port counted since this endpoint was made. A port that two endpoints share counts for both."""
        now = self._nic.counters()
        return (NicCounters(self._nic.name, {name: now[name] - self._counted.get(name, 0) for name in sorted(now)}),)

    def next_event(self) -> Event | None:
        return self._events.popleft() if self._events else None

    def receive_frame(self, port: int, frame: Buffer, now: int) -> None:
        """The device takes its frames itself."""

    def receive_batch(self, batch: FrameBatch, now: int) -> None:
        pass

    def next_frame(self, now: int) -> bytes | None:
        return None

    def hold(self) -> None:
        """No compiled code drives a device."""

    def frames_to_send(self, now: int) -> Iterator[tuple[int, Buffer]]:
        return iter(())

    def fill_batch(self, batch: FrameBatch, now: int) -> None:
        pass

    def get_timer(self) -> int | None:
        return self._due

    def handle_timer(self, now: int) -> None:
        found = self._nic.poll()
        for entry in found:
            qp = self._by_real[entry.qpn]
            if entry.receive:
                self._on_received(qp, entry)
            else:
                self._on_sent(qp, entry)
        self._due = now + (_BUSY_NS if found else _IDLE_NS)

    def _on_sent(self, qp: _QueuePair, entry: WorkCompletion) -> None:
        sent = qp.sent.popleft()
        qp.packets -= sent.packets
        self._free.append(sent.buffer)
        self._completions.append(SendCompleted(qp.config.qpn, sent.wr_id, entry.status))
        if entry.status != SUCCESS:
            self._fail(qp, entry, _after(qp.config.first_psn, qp.acked_packets))
        else:
            qp.acked_packets += sent.packets
        self._post_sends(qp)

    def _on_received(self, qp: _QueuePair, entry: WorkCompletion) -> None:
        qp.received -= 1
        if entry.status != SUCCESS:
            self._fail(qp, entry, -1)
            return
        self._completions.append(ReceiveCompleted(qp.config.qpn, entry.wr_id, entry.imm, entry.length))
        self._post_receives(qp)

    def _fail(self, qp: _QueuePair, entry: WorkCompletion, psn: int) -> None:
        """The first error says what happened; the rest of the queue is flushed after it."""
        if qp.failed:
            return
        qp.failed = True
        self._events.append(QpFailed(qp.qpn, entry.status, psn, self._reason(qp, entry)))

    def _reason(self, qp: _QueuePair, entry: WorkCompletion) -> str:
        config, what = qp.config, "receive" if entry.receive else "message"
        cause = (
            f"{self._nic.name}: {what} {entry.wr_id} ended with {entry.status}, peer "
            f"{ip_address(config.envelope.dst_ip)}"
        )
        if entry.status == "RETRY_EXC":
            each = (rto_ns(config.timeout_code) or 0) / 1e6
            return f"{cause}: no ACK after {config.retry_count} retries, {each:.3g} ms each or more"
        if entry.status == "RNR_RETRY_EXC":
            return f"{cause}: the peer had no receive posted, {config.rnr_retry} times"
        return cause

    def _post_sends(self, qp: _QueuePair) -> None:
        while qp.peer is not None and qp.sends and len(qp.sent) < self._nic.depth:
            if qp.failed and qp.sent:
                return  # what the device still has completes before what it never got
            request = qp.sends.popleft()
            if qp.failed:
                qp.packets -= self._packets(qp, request)
                self._completions.append(SendCompleted(qp.config.qpn, request.wr_id, _FLUSH))
                continue
            buffer, size = self._fill_buffer(request.segments)
            target = None
            if request.remote_va is not None:
                target = request.remote_va + qp.peer.va_offset, qp.peer.rkey
            self._nic.post_send(qp.qpn, request.wr_id, (buffer.region, size), request.imm, target)
            qp.sent.append(_Sent(request.wr_id, self._packets(qp, request), buffer))

    def _post_receives(self, qp: _QueuePair) -> None:
        while qp.receives and qp.received < self._nic.depth:
            request = qp.receives.popleft()
            region, offset, length = self._anchor, 0, 0
            if request.memory is not None:
                region, offset = self._place(request.memory)
                length = len(request.memory)
            self._nic.post_receive(qp.qpn, request.wr_id, region, offset, length)
            qp.received += 1

    def _fill_buffer(self, segments: tuple[Buffer, ...]) -> tuple[_Buffer, int]:
        """A registered copy of the message, and its length."""
        size = sum(memoryview(segment).nbytes for segment in segments)
        buffer = next((free for free in self._free if len(free.memory) >= size), None)
        if buffer is None:
            memory = memoryview(bytearray(max(_LEAST_BUFFER, 1 << (size - 1).bit_length())))
            buffer = _Buffer(memory, self._register(memory, remote=False))
        else:
            self._free.remove(buffer)
        at = 0
        for segment in segments:
            view = memoryview(segment).cast("B")
            buffer.memory[at : at + len(view)] = view
            at += len(view)
        return buffer, size

    def _place(self, memory: memoryview) -> tuple[Region, int]:
        """Where `memory` lies: the whole object behind it is registered once, at the first request for a part of it."""
        owner = memory.obj
        known = self._known.get(id(owner))
        region = known[1] if known else self._register(memoryview(owner).cast("B"), remote=False)
        return region, _address(memory) - region.address

    def _register(self, memory: memoryview, *, remote: bool) -> Region:
        region = self._nic.register(memory, remote=remote)
        self._known[id(memory.obj)] = memory.obj, region
        return region

    @staticmethod
    def _packets(qp: _QueuePair, request: SendRequest) -> int:
        size = sum(memoryview(segment).nbytes for segment in request.segments)
        return max(1, -(-size // qp.config.path_mtu))


def _address(memory: memoryview) -> int:
    return int(np.frombuffer(memory, np.uint8).__array_interface__["data"][0])
