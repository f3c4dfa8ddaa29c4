"""A donor: it sends its symbol of the lost node, packet by packet, each until the newcomer has it.

An acknowledgement frees the index of a packet, so the packet W later may go. So a combining node sees a newer block in
an index only when the newcomer has the older one.
"""

from __future__ import annotations

import cython

from workloads.codes.gf256 import PRODUCTS
from workloads.datagrams.arrival import Arrival
from workloads.datagrams.slot_window import SlotWindow
from workloads.events import CollectiveStarted, DatagramResent
from workloads.repair.base import RepairHost
from workloads.repair.config import RepairConfig
from workloads.repair.packets import data_header
from workloads.repair.stored import symbols_of
from workloads.wire.aggregation import AGGREGATION_PORT, SEQUENCES, DatagramKind, encode_datagram

if not cython.compiled:
    from workloads.kernels import copy_bytes, finished, new_draft, put16, put32
    from workloads.wire.inspected import AT_NELEM, AT_PAYLOAD, AT_SEQUENCE, AT_SLOT, nearest_packet, seal

__all__ = ["Donor"]

_ACK, _SEQUENCES = int(DatagramKind.ACK), SEQUENCES


class Donor(RepairHost):
    """A Machine. It holds at the end what it held before: its own block."""

    def __init__(self, config: RepairConfig, *, start_ns: int = 0) -> None:
        RepairHost.__init__(self, config, start_ns=start_ns)
        share, collective = config.share, config.collective
        self._window = SlotWindow(config.window, config.rto_ns, collective.job << 32 | collective.rank)
        self._symbol = self._template = b""
        """empty between iterations; a packet without elements"""
        self._full, self._first_slot = 4 * config.elements, config.first_slot
        """bytes of a full packet"""
        matrix = self._code.repair_matrix(share.lost, share.donors)
        self._coefficient = int(matrix[0, collective.rank]) if share.code.alpha == 1 else 1
        """factor of its symbol, where the newcomer rebuilds one symbol; otherwise the newcomer multiplies itself"""

    def packets_due(self) -> int:
        return self._window.due()

    def expire(self, now: int) -> int:
        return self._window.expire(now)

    def take_packet(self, found: Arrival, now: int) -> None:
        window = self._window
        if found.kind != _ACK or not found.bitmap >> self._rank & 1:
            self.reject("unexpected", f"kind {found.kind} for ranks {hex(found.bitmap)}")
            return
        packet = nearest_packet(found.sequence, window.first)
        if not self._symbol or not window.is_outstanding(packet):
            self._duplicates += 1
            return
        self._results += 1
        window.settle(packet, now)
        if not window.missing:
            self._symbol = b""
            self._training.result[:] = self._training.gradient
            self.complete(now)

    def give(self, now: int) -> bytes | None:
        window = self._window
        packet = window.next_ready()
        if packet < 0:
            return None
        waited_ns, before = now - window.progress_at, window.left(packet, now)
        self._sent += 1
        if before:
            self._sent_again += 1
            slot = self._first_slot + window.index_of(packet)
            self.events.append(DatagramResent(self._job, packet, slot, "timeout", before, waited_ns))
        return self._encode(packet)

    def begin(self, now: int) -> None:
        config, training = self._config, self._training
        symbol = self._code.donate(config.share.lost, symbols_of(training.gradient, self._code.alpha))
        self._symbol = symbol.tobytes()
        if config.op == "xor" and self._coefficient != 1:
            self._symbol = self._symbol.translate(PRODUCTS[self._coefficient].tobytes())
        header = data_header(config, self._coefficient, training.iteration)
        self._template = encode_datagram(config.answers[0], AGGREGATION_PORT, header, b"")
        self.events.append(CollectiveStarted(training.iteration, training.gradient.nbytes, config.blocks))
        self._window.start(config.blocks)

    def _encode(self, packet: int) -> bytes:
        """The same bytes each time."""
        start = (packet - self._window.first) * self._full
        size = min(self._full, len(self._symbol) - start)
        draft = new_draft(AT_PAYLOAD + size)
        copy_bytes(draft, 0, self._template, 0, AT_PAYLOAD)
        copy_bytes(draft, AT_PAYLOAD, self._symbol, start, size)
        put32(draft, AT_SEQUENCE, (packet + 1) % _SEQUENCES)
        put16(draft, AT_SLOT, self._first_slot + self._window.index_of(packet))
        put16(draft, AT_NELEM, size // 4)
        seal(draft, AT_PAYLOAD + size)
        return finished(draft)
