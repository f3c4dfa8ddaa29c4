"""A worker of ATP or ESA as a Machine (Lao et al., NSDI 2021; ESA as reconstructed here: see `docs/atp.md`,
`docs/esa.md`).

It sends each block of its gradient towards the parameter server, through whatever aggregates on the way, and takes the
sum out of the result. If a result does not come in time, the worker asks for it by a RESEND. A RESEND flushes what a
switch holds of that block, and never opens a slot. An ESA worker is the same, with a priority in every packet. Both
answer the NACK of a server that misses a block, with a RESEND or with the result itself.
"""

from __future__ import annotations

from collections import deque

import cython

from workloads.atp.checks import problems_in_worker
from workloads.atp.config import AtpConfig
from workloads.atp.pressure import Pressure
from workloads.atp.results import KeptResults
from workloads.atp.window import SendWindow
from workloads.datagrams.arrival import Arrival
from workloads.datagrams.problems import refuse
from workloads.datagrams.quantisation import Exponents
from workloads.datagrams.quick_worker import QuickWorker
from workloads.datagrams.slots import SlotTable
from workloads.datagrams.training import Training
from workloads.datagrams.worker_sets import WIDTH
from workloads.events import DatagramResent
from workloads.gradients import GradientSource, source_of
from workloads.machine import HostMachine
from workloads.server.kinds import served_kinds
from workloads.wire import Envelope
from workloads.wire.aggregation import (
    AGGREGATION_PORT,
    SEQUENCES,
    AggregationHeader,
    DatagramFlag,
    DatagramKind,
    Policy,
    decode_datagram,
    encode_datagram,
)

if not cython.compiled:
    from workloads.kernels import copy_bytes, finished, new_draft, put8, put16, put32
    from workloads.wire.inspected import (
        AT_EXPONENT0,
        AT_EXPONENT1,
        AT_FAN_IN0,
        AT_FLAGS,
        AT_KIND,
        AT_NELEM,
        AT_PAYLOAD,
        AT_PRIORITY,
        AT_SEQUENCE,
        AT_SLOT,
        AT_TENSOR,
        address_of,
        nearest_packet,
        seal,
    )

__all__ = ["AtpWorker", "create_worker"]

_DATA, _RESULT, _EXPONENTS = int(DatagramKind.DATA), int(DatagramKind.RESULT), int(DatagramKind.EXPONENTS)
_NACK, _RATE, _EMPTY = int(DatagramKind.NACK), int(DatagramKind.RATE), int(DatagramKind.REMINDER_EMPTY)
_RESEND, _COLLISION = int(DatagramFlag.RESEND), int(DatagramFlag.COLLISION)
_OVERFLOW, _SEQUENCES = int(DatagramFlag.OVERFLOW), SEQUENCES


_Names = tuple[int, int, int]
"""`bitmap0`, `bitmap1` and `node` of a header"""


def _names(config: AtpConfig) -> tuple[_Names, _Names]:
    """Names of this worker alone, and of all workers of the job, as in `workloads.datagrams.worker_sets`."""
    share, (rack, place) = config.collective, config.place
    if share.size <= WIDTH:
        return (1 << share.rank, 0, 0), ((1 << share.size) - 1, 0, 0)
    return (1 << place, 0, rack + 1), (0, (1 << config.fan_in[1]) - 1, 0)


class AtpWorker(QuickWorker):
    """Raises ScenarioError for a configuration that cannot be served. `workloads.grid` has a worker that is made of
    this one: what differs there is in the methods from `make_window` to `encode`."""

    kinds = frozenset((DatagramKind.RESULT, DatagramKind.NACK, DatagramKind.REMINDER_EMPTY))
    """kinds of packets that it understands"""

    def __init__(self, config: AtpConfig, source: GradientSource, *, start_ns: int = 0) -> None:
        refuse(problems_in_worker(config), owner=f"worker {config.name}")
        share = config.collective
        training = Training.of(config.workload, source, share.rank, start_ns)
        QuickWorker.__init__(self, share, training, self.make_window(config), config.elements, config.fixed_scale)
        policy = served_kinds()[share.kind].policy
        self._config, self._policy = config, int(policy)
        self._alone, self._everybody = _names(config)
        self._memory, self._has_priorities = config.memory, policy is Policy.ESA
        self._understood = sum(1 << kind for kind in self.kinds)
        self._address = int.from_bytes(config.envelope.src_ip, "big")
        self._groups: set[int] = set()
        """further addresses that results come to"""
        self._slots = SlotTable(share.job, config.window, config.memory, config.salt)
        self._kept = KeptResults(config.window)
        self._pressure = Pressure(config, source)
        self._answers: deque[bytes] = deque()
        """answers to NACKs: frames that leave before all others"""
        self._found = Arrival()
        self._fan_in = config.fan_in[0] or share.size
        self._template = self.template_to(config.envelope)

    def take(self, port: int, frame: bytes, now: int) -> None:
        found, window = self._found, self._window
        if not self._is_readable(frame):
            return
        address = address_of(frame, True)
        if address != self._address and address not in self._groups:
            return
        found.read(frame)
        if not self._understood >> found.kind & 1 or found.policy != self._policy or found.job != self._job:
            self.reject("unexpected", f"kind {found.kind} of job {found.job}, policy {found.policy}")
            return
        packet = nearest_packet(found.sequence, window.base)
        if found.kind == _RESULT:
            self.take_result(found, packet, now)
        elif found.kind == _NACK:
            self._answer_nack(packet)
        elif found.kind == _RATE:
            self.collided(packet, now)
        elif window.is_outstanding(packet):
            self.fail(
                "lost", f"packet {packet + 1} of job {self._job}: the parameter server no longer has its sum, others do"
            )

    def give(self, now: int) -> bytes | None:
        if self._failed:
            return None
        if self._answers:
            answer: bytes = self._answers.popleft()
            return answer
        if not self.in_pace(now):
            return None
        window = self._window
        packet = window.next_leaving()
        if packet < 0:
            return None
        cause = window.cause
        if not cause and not self.may_leave(packet):
            return None
        frame = self.encode(packet, cause)
        waited_ns, before = now - window.progress_at, window.left(packet, now)
        self.charge(len(frame), now)
        self._sent += 1
        if cause:
            self._sent_again += 1
            self.events.append(DatagramResent(self._job, packet, self._slot_of(packet), cause, before, waited_ns))
        return frame

    def begin(self, now: int) -> None:
        self._pressure.start(now)
        QuickWorker.begin(self, now)

    def complete(self, now: int) -> None:
        self._pressure.complete(now)
        QuickWorker.complete(self, now)

    def take_result(self, found: Arrival, packet: int, now: int) -> None:
        tensor, window = self._tensor, self._window
        if tensor is None or self._failed or not window.is_outstanding(packet):
            self._duplicates += 1
            return
        own, first, second = packet - window.first, found.exponent0, found.exponent1
        moves = found.flags & _COLLISION != 0
        if (
            found.count != tensor.elements_in(own)
            or found.tensor != self._iteration
            or not tensor.can_be(own, first, second)
            or (moves and found.new_slot >= self._memory)
        ):
            what = f"{found.count} elements and exponents {(first, second)} of tensor {found.tensor}"
            self.reject("bad_result", f"packet {packet + 1} with {what}")
            return
        if found.flags & _OVERFLOW:
            self.fail("overflow", f"packet {packet + 1} of job {self._job}: a sum left the range of int32")
            return
        self._kept.keep(packet, found.frame)
        if moves:
            self._slots.move(packet % window.window, found.new_slot)
        if found.congested:
            window.mark()
        self.put(packet, first, second, found.frame, found.at, found.count, now)

    def _answer_nack(self, packet: int) -> None:
        """The server misses a block. It gets our part again, or the sum if we have it, or the answer that we lost it.
        The worker ignores the request if the block has not left yet."""
        if self._window.is_outstanding(packet):
            self._window.ask_again(packet, "nack")
            return
        if packet >= self._window.next or self._failed:
            return
        kept, payload = self._kept.find(packet), b""
        if kept is None:
            header = self._header(packet, _EMPTY, 0, self._alone, (0, 0), b"", 0)
        else:
            result = decode_datagram(kept)
            assert result is not None, "it was sound"
            slot, tensor, payload = result.header.slot, result.header.tensor, bytes(result.payload)
            exponents = result.header.exponent0, result.header.exponent1
            kind = _DATA if payload else _EXPONENTS
            header = self._header(packet, kind, slot, self._everybody, exponents, payload, tensor)
            header = header._replace(flags=_RESEND)
        self._answers.append(encode_datagram(self._config.envelope, AGGREGATION_PORT, header, payload))

    def make_window(self, config: AtpConfig) -> SendWindow:
        share = config.collective
        seed = share.job << 32 | share.rank
        return SendWindow(config.window, config.rto_ns, aimd=config.aimd, seed=seed, ways=config.ways)

    def in_pace(self, now: int) -> bool:
        """Whether a packet may leave, as far as time is concerned."""
        return True

    def charge(self, frame_bytes: int, now: int) -> None:
        """A frame leaves."""

    def collided(self, packet: int, now: int) -> None:
        """A switch says that it had no slot for the packet."""

    def template_to(self, envelope: Envelope, node: int = 0) -> bytes:
        """A frame without elements, the template of all frames that leave that way."""
        header = self._header(0, _DATA, 0, self._alone, (0, 0), b"", 0)
        header = header._replace(node=node) if node else header
        return encode_datagram(envelope, AGGREGATION_PORT, header, b"")

    def encode(self, packet: int, cause: str) -> bytes:
        """`cause`: why it leaves again; empty: for the first time."""
        return self._written(self._template, packet, _RESEND if cause else 0, self._fan_in)

    def _written(self, template: bytes, packet: int, flags: int, fan_in: int) -> bytes:
        tensor, own = self._tensor, packet - self._window.first
        assert tensor is not None, "a packet is outstanding"
        count = tensor.elements_in(own)
        draft = new_draft(AT_PAYLOAD + 4 * count)
        copy_bytes(draft, 0, template, 0, AT_PAYLOAD)
        put8(draft, AT_KIND, _DATA if count else _EXPONENTS)
        put16(draft, AT_FLAGS, flags)
        put32(draft, AT_SEQUENCE, (packet + 1) % _SEQUENCES)
        put16(draft, AT_SLOT, self._slot_of(packet))
        put8(draft, AT_FAN_IN0, fan_in)
        put8(draft, AT_EXPONENT0, tensor.exponent(own, 0))
        put8(draft, AT_EXPONENT1, tensor.exponent(own, 1))
        put16(draft, AT_NELEM, count)
        put32(draft, AT_TENSOR, self._iteration)
        put8(draft, AT_PRIORITY, self._priority_of(own))
        tensor.fill(draft, AT_PAYLOAD, own)
        seal(draft, AT_PAYLOAD + 4 * count)
        return finished(draft)

    def _header(
        self, packet: int, kind: int, slot: int, workers: _Names, exponents: Exponents, payload: bytes, tensor: int
    ) -> AggregationHeader:
        config = self._config
        return AggregationHeader(
            policy=self._policy,
            kind=kind,
            job=self._job,
            sequence=(packet + 1) % SEQUENCES,
            slot=slot,
            bitmap0=workers[0],
            bitmap1=workers[1],
            node=workers[2],
            fan_in0=self._fan_in,
            fan_in1=config.fan_in[1],
            nelem=len(payload) // 4,
            exponent0=exponents[0],
            exponent1=exponents[1],
            tensor=tensor,
            op=int(config.collective.arithmetic.dtype == "int32sat" or config.fixed_scale is not None),
            priority=self._priority_of(packet - self._window.first),
            server=int.from_bytes(config.envelope.dst_ip, "big"),
        )

    def _priority_of(self, own: int) -> int:
        """Priority of a packet of the tensor."""
        if not self._has_priorities:
            return 0
        return self._pressure.priority(own, 0 if self._tensor is None else self._tensor.ahead)

    def _slot_of(self, packet: int) -> int:
        return self._slots.slot_of(packet % self._window.window)


def create_worker(config: AtpConfig, start_ns: int) -> HostMachine:
    """An AtpWorker with its gradient source. Raises ScenarioError for what cannot be served, HostCapabilityError
    when its data is not installed."""
    return AtpWorker(config, source_of(config), start_ns=start_ns)
