"""A worker of ATP or ESA as a Machine (Lao et al., NSDI 2021; ESA as reconstructed here: see `docs/atp.md`,
`docs/esa.md`).

It sends each block of its gradient towards the parameter server, through whatever aggregates on the way, and takes the
sum out of the result. What has no result in time is asked for by a RESEND, which flushes what a switch holds of that
block and never opens a slot. An ESA worker is the same with a priority in every packet; both answer the NACK of a
server that misses a block: with a RESEND, or with the result itself.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from workloads.atp.checks import problems_in_worker
from workloads.atp.config import KINDS, AtpConfig
from workloads.atp.pressure import Pressure
from workloads.atp.results import KeptResult, KeptResults
from workloads.atp.slots import SlotTable
from workloads.atp.window import SendWindow
from workloads.datagrams.blockworker import BlockWorker
from workloads.datagrams.problems import refuse
from workloads.datagrams.quantisation import Exponents
from workloads.events import DatagramResent
from workloads.gradients import GradientSource, source_of
from workloads.machine import Buffer
from workloads.wire.aggregation import (
    AGGREGATION_PORT,
    SEQUENCES,
    AggregationHeader,
    Datagram,
    DatagramError,
    DatagramFlag,
    DatagramKind,
    decode_datagram,
    encode_datagram,
)
from workloads.wire.ecn import is_ce
from workloads.wire.inspected import nearest_packet

__all__ = ["AtpWorker", "create_worker"]


class AtpWorker(BlockWorker[AtpConfig, SendWindow]):
    """Raises ScenarioError for a configuration that cannot be served. `workloads.grid` has a worker that is made of
    this one: what differs there is in the methods from `_make_window` to `_encode`."""

    kinds = frozenset((DatagramKind.RESULT, DatagramKind.NACK, DatagramKind.REMINDER_EMPTY))
    """that it understands"""

    def __init__(self, config: AtpConfig, source: GradientSource, *, start_ns: int = 0) -> None:
        refuse(problems_in_worker(config), owner=f"worker {config.name}")
        share = config.collective
        window = self._make_window(config)
        super().__init__(config, source, window, start_ns=start_ns, fixed_scale=config.fixed_scale)
        self._policy, self._everybody = KINDS[share.kind].policy, (1 << share.size) - 1
        self._addresses = {config.envelope.src_ip}
        """that results come to"""
        self._slots = SlotTable(share.job, config.window, config.memory, config.salt)
        self._kept = KeptResults(config.window)
        self._pressure = Pressure(config, source)
        self._answers: deque[bytes] = deque()
        """to NACKs: frames that leave before anything else"""

    def receive_frame(self, port: int, frame: Buffer, now: int) -> None:
        try:
            found = decode_datagram(frame)
        except DatagramError as error:
            self._reject(error.reason, str(error))
            return
        if found is None or found.dst_ip not in self._addresses:
            return
        header = found.header
        if header.kind not in self.kinds or (header.policy, header.job) != (self._policy, self._job):
            self._reject("unexpected", f"kind {header.kind} of job {header.job}, policy {header.policy}")
            return
        packet = nearest_packet(header.sequence, self._window.base)
        if header.kind == DatagramKind.RESULT:
            self._take_result(found, packet, is_ce(frame) or bool(header.flags & DatagramFlag.ECN), now)
        elif header.kind == DatagramKind.NACK:
            self._answer_nack(packet)
        elif header.kind == DatagramKind.RATE:
            self._collided(packet, now)
        elif self._window.is_outstanding(packet):
            self._training.fail(
                "lost", f"packet {packet + 1} of job {self._job}: the parameter server no longer has its sum, others do"
            )

    def frames_to_send(self, now: int) -> Iterator[tuple[int, bytes]]:
        while not self.failed:
            if self._answers:
                yield 0, self._answers.popleft()
                continue
            taken = self._window.take(self._may_leave) if self._in_pace(now) else None
            if taken is None:
                return
            packet, cause = taken
            frame = self._encode(packet, cause)
            waited_ns, before = now - self._window.progress_at, self._window.left(packet, now)
            self._charge(len(frame), now)
            self._counts["packets_sent"] += 1
            if cause:
                self._counts["packets_retransmitted"] += 1
                self._events.append(DatagramResent(self._job, packet, self._slot_of(packet), cause, before, waited_ns))
            yield 0, frame

    def _start(self, now: int) -> None:
        self._pressure.start(now)
        super()._start(now)

    def _complete(self, now: int) -> None:
        self._pressure.complete(now)
        super()._complete(now)

    def _take_result(self, found: Datagram, packet: int, marked: bool, now: int) -> None:
        header, tensor, window = found.header, self._tensor, self._window
        if tensor is None or self.failed or not window.is_outstanding(packet):
            self._counts["duplicates_received"] += 1
            return
        own, exponents = packet - window.first, (header.exponent0, header.exponent1)
        moves = bool(header.flags & DatagramFlag.COLLISION)
        if (
            header.nelem != tensor.elements_in(own)
            or header.tensor != self._training.iteration
            or not tensor.can_be(own, *exponents)
            or (moves and header.new_slot >= self._config.memory)
        ):
            what = f"{header.nelem} elements and exponents {exponents} of tensor {header.tensor}"
            self._reject("bad_result", f"packet {packet + 1} with {what}")
            return
        if header.flags & DatagramFlag.OVERFLOW:
            detail = f"packet {packet + 1} of job {self._job}: a sum left the range of int32"
            self._training.fail("overflow", detail)
            return
        self._put(tensor, own, exponents, found.payload, now)
        self._kept.keep(KeptResult(packet, header.slot, header.tensor, exponents, bytes(found.payload)))
        if moves:
            self._slots.move(packet % window.window, header.new_slot)
        window.settle(packet, now, marked=marked)
        if window.complete:
            self._complete(now)

    def _answer_nack(self, packet: int) -> None:
        """The server misses a block: it gets our part once more, or the sum where we have it, or learns that we lost
        it. What has not left yet is none of its business."""
        if self._window.is_outstanding(packet):
            self._window.ask_again(packet, "nack")
            return
        if packet >= self._window.next or self.failed:
            return
        kept = self._kept.find(packet)
        if kept is None:
            kind, kept = DatagramKind.REMINDER_EMPTY, KeptResult(packet, 0, 0, (0, 0), b"")
        else:
            kind = DatagramKind.DATA if kept.payload else DatagramKind.EXPONENTS
        empty = kind == DatagramKind.REMINDER_EMPTY
        workers = 1 << self._rank if empty else self._everybody
        header = self._header(packet, kind, kept.slot, workers, kept.exponents, kept.payload)._replace(
            flags=0 if empty else DatagramFlag.RESEND, tensor=kept.tensor
        )
        self._answers.append(encode_datagram(self._config.envelope, AGGREGATION_PORT, header, kept.payload))

    def _make_window(self, config: AtpConfig) -> SendWindow:
        share = config.collective
        seed = share.job << 32 | share.rank
        return SendWindow(config.window, config.rto_ns, aimd=config.aimd, seed=seed, ways=config.ways)

    def _in_pace(self, now: int) -> bool:
        """Whether a packet may leave, as far as time is concerned."""
        return True

    def _charge(self, frame_bytes: int, now: int) -> None:
        """A frame leaves."""

    def _collided(self, packet: int, now: int) -> None:
        """A switch says that it had no slot for the packet."""

    def _encode(self, packet: int, cause: str) -> bytes:
        """`cause`: why it leaves again; empty: for the first time."""
        header, payload = self._contents(packet)
        if cause:
            header = header._replace(flags=DatagramFlag.RESEND)
        return encode_datagram(self._config.envelope, AGGREGATION_PORT, header, payload)

    def _contents(self, packet: int) -> tuple[AggregationHeader, bytes]:
        """Of an outstanding packet, as it leaves for the first time."""
        assert self._tensor is not None, "a packet is outstanding"
        exponents, payload = self._tensor.payload(packet - self._window.first)
        kind = DatagramKind.DATA if payload else DatagramKind.EXPONENTS
        return self._header(packet, kind, self._slot_of(packet), 1 << self._rank, exponents, payload), payload

    def _header(
        self, packet: int, kind: int, slot: int, workers: int, exponents: Exponents, payload: bytes
    ) -> AggregationHeader:
        config = self._config
        fan_in0, fan_in1 = config.fan_in
        return AggregationHeader(
            policy=self._policy,
            kind=kind,
            job=self._job,
            sequence=(packet + 1) % SEQUENCES,
            slot=slot,
            bitmap0=workers,
            fan_in0=fan_in0 or config.collective.size,
            fan_in1=fan_in1,
            nelem=len(payload) // 4,
            exponent0=exponents[0],
            exponent1=exponents[1],
            tensor=self._training.iteration,
            op=int(config.collective.arithmetic.dtype == "int32sat" or config.fixed_scale is not None),
            priority=self._pressure.priority(
                packet - self._window.first, 0 if self._tensor is None else self._tensor.ahead
            ),
            server=int.from_bytes(config.envelope.dst_ip, "big"),
        )

    def _slot_of(self, packet: int) -> int:
        return self._slots[packet % self._config.window]


def create_worker(config: AtpConfig, start_ns: int) -> AtpWorker:
    """With its gradient source. Raises ScenarioError for what cannot be served, HostCapabilityError when its data is
    not installed."""
    return AtpWorker(config, source_of(config), start_ns=start_ns)
