"""A SwitchML worker as a Machine (Sapio et al., NSDI 2021; see `docs/switchml.md` for what is sourced and what is
decided).

It sends each block of its gradient to the switch, one per slot index, and takes the sum out of the result. A result
that does not come is asked for by sending the very same packet again: the switch counts it if it was lost on the way
there, and answers it alone if the result was lost on the way back.
"""

from __future__ import annotations

from collections import deque

import cython

from workloads.datagrams.problems import refuse
from workloads.datagrams.quick_worker import QuickWorker
from workloads.datagrams.slot_window import SlotWindow
from workloads.datagrams.training import Training
from workloads.events import DatagramResent
from workloads.gradients import GradientSource, source_of
from workloads.switchml.checks import problems_in_worker
from workloads.switchml.config import SwitchMlConfig
from workloads.switchml.framing import Arrival, create_framing
from workloads.wire.aggregation import (
    AGGREGATION_PORT,
    SEQUENCES,
    AggregationHeader,
    DatagramError,
    DatagramFlag,
    DatagramKind,
    Policy,
    encode_datagram,
)

if not cython.compiled:
    from workloads.kernels import copy_bytes, finished, get8, get16, get32, new_draft, put8, put16, put32
    from workloads.wire.inspected import (
        AT_EXPONENT0,
        AT_EXPONENT1,
        AT_FLAGS,
        AT_JOB,
        AT_KIND,
        AT_NELEM,
        AT_PAYLOAD,
        AT_SEQUENCE,
        AT_SLOT,
        AT_TENSOR,
        AT_VERSION,
        address_of,
        is_sound,
        nearest_packet,
        seal,
        as_signed,
    )

__all__ = ["SwitchMlWorker", "create_worker"]

_DATA, _RESULT, _EXPONENTS = int(DatagramKind.DATA), int(DatagramKind.RESULT), int(DatagramKind.EXPONENTS)
_POLICY = int(Policy.SWITCHML)
_VERSION_FLAG, _SEQUENCES = int(DatagramFlag.VERSION), SEQUENCES


class SwitchMlWorker(QuickWorker):
    """Raises ScenarioError for a configuration that SwitchML cannot serve."""

    def __init__(self, config: SwitchMlConfig, source: GradientSource, *, start_ns: int = 0) -> None:
        refuse(problems_in_worker(config), owner=f"worker {config.name}")
        share = config.collective
        training = Training.of(config.workload, source, share.rank, start_ns)
        QuickWorker.__init__(self, share, training, SlotWindow(config.window, config.rto_ns), config.elements)
        self._config, self._first_slot = config, config.first_slot
        self._is_uc = config.uc is not None
        self._framing = create_framing(config)
        self._address = int.from_bytes(config.envelope.src_ip, "big")
        header = AggregationHeader(_POLICY, _DATA, share.job, 1, 0, 1 << share.rank, share.size)
        self._template = encode_datagram(config.envelope, AGGREGATION_PORT, header, b"")
        self._leaving: deque[bytes] = deque()
        """the rest of a packet that takes several frames"""

    def take(self, port: int, frame: bytes, now: int) -> None:
        if self._is_uc or not is_sound(frame):
            self._take_other(frame, now)
        elif address_of(frame, True) == self._address:
            policy, kind = get8(frame, AT_VERSION) & 15, get8(frame, AT_KIND)
            if policy != _POLICY or kind != _RESULT or get16(frame, AT_JOB) != self._job:
                self._refuse(kind, get16(frame, AT_JOB), policy)
            else:
                self._take_result(
                    get32(frame, AT_SEQUENCE), get16(frame, AT_SLOT), get16(frame, AT_FLAGS), get16(frame, AT_NELEM),
                    as_signed(get8(frame, AT_EXPONENT0)), as_signed(get8(frame, AT_EXPONENT1)), frame, AT_PAYLOAD, now,
                )  # fmt: skip

    def _take_other(self, frame: bytes, now: int) -> None:
        """A message of unreliable connections, and what is no datagram that can be used."""
        try:
            found: Arrival | None = self._framing.receive(frame)
        except DatagramError as error:
            self.reject(error.reason, str(error))
            return
        if found is None:
            return
        h = found.header
        if (h.policy, h.kind, h.job) != (Policy.SWITCHML, DatagramKind.RESULT, self._job):
            self._refuse(h.kind, h.job, h.policy)
        else:
            payload = bytes(found.payload)
            self._take_result(h.sequence, h.slot, h.flags, h.nelem, h.exponent0, h.exponent1, payload, 0, now)

    def _refuse(self, kind: int, job: int, policy: int) -> None:
        self.reject("unexpected", f"kind {kind} of job {job}, policy {policy}")

    def _take_result(
        self, sequence: int, slot: int, flags: int, count: int, first: int, second: int, frame: bytes, at: int, now: int
    ) -> None:
        """`count` elements from `at` of a frame."""
        window, tensor = self._window, self._tensor
        packet = nearest_packet(sequence, window.first)
        if tensor is None or self._failed or packet < 0 or not window.is_outstanding(packet):
            self._duplicates += 1
            return
        own = packet - window.first
        if (
            count != tensor.elements_in(own)
            or slot != self._first_slot + window.index_of(packet)
            or (flags & _VERSION_FLAG != 0) != (window.version_of(packet) != 0)
            or not tensor.can_be(own, first, second)
        ):
            what = f"{count} elements and exponents {(first, second)} in slot {slot}"
            self.reject("bad_result", f"block {packet} with {what}")
            return
        self.put(packet, first, second, frame, at, count, now)

    def give(self, now: int) -> bytes | None:
        if self._failed:
            return None
        if self._leaving:
            following: bytes = self._leaving.popleft()
            return following
        window = self._window
        packet = window.next_ready()
        while packet >= 0 and not self.may_leave(packet):
            window.hold(packet)
            packet = window.next_ready()
        if packet < 0:
            return None
        frame = self._encode(packet)
        before = window.left(packet, now)
        self._sent += 1
        if before:
            self._sent_again += 1
            slot = self._first_slot + window.index_of(packet)
            self.events.append(DatagramResent(self._job, packet, slot, "timeout", before))
        return frame

    def _encode(self, packet: int) -> bytes:
        """The same header and elements each time: nothing in them depends on when it leaves. Over unreliable
        connections the first frame; the others follow."""
        tensor, window = self._tensor, self._window
        assert tensor is not None, "a packet is outstanding"
        own = packet - window.first
        count, slot = tensor.elements_in(own), self._first_slot + window.index_of(packet)
        flags = _VERSION_FLAG if window.version_of(packet) else 0
        sequence = (packet + 1) % _SEQUENCES
        if self._is_uc:
            return self._encode_uc(own, sequence, slot, flags)
        draft = new_draft(AT_PAYLOAD + 4 * count)
        copy_bytes(draft, 0, self._template, 0, AT_PAYLOAD)
        put8(draft, AT_KIND, _DATA if count else _EXPONENTS)
        put16(draft, AT_FLAGS, flags)
        put32(draft, AT_SEQUENCE, sequence)
        put16(draft, AT_SLOT, slot)
        put8(draft, AT_EXPONENT0, tensor.exponent(own, 0))
        put8(draft, AT_EXPONENT1, tensor.exponent(own, 1))
        put16(draft, AT_NELEM, count)
        put32(draft, AT_TENSOR, self._training.iteration)
        tensor.fill(draft, AT_PAYLOAD, own)
        seal(draft, AT_PAYLOAD + 4 * count)
        return finished(draft)

    def _encode_uc(self, own: int, sequence: int, slot: int, flags: int) -> bytes:
        assert self._tensor is not None, "a packet is outstanding"
        (first, second), payload = self._tensor.payload(own)
        header = AggregationHeader(
            _POLICY, _DATA if payload else _EXPONENTS, self._job, sequence, slot, 1 << self._rank, self._size,
            len(payload) // 4, flags, first, second, self._training.iteration,
        )  # fmt: skip
        self._leaving.extend(self._framing.frames(header, payload))
        frame: bytes = self._leaving.popleft()
        return frame


def create_worker(config: SwitchMlConfig, start_ns: int) -> SwitchMlWorker:
    """With its gradient source. Raises ScenarioError for what cannot be served, HostCapabilityError when its data is
    not installed."""
    return SwitchMlWorker(config, source_of(config), start_ns=start_ns)
