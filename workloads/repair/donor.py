"""A donor: it sends its symbol of the lost node, packet by packet, each until the newcomer has it.

An acknowledgement frees the index of a packet, so that the packet W later may go: whoever combines sees a newer block
in an index only when the newcomer has the older one.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from workloads.codes.gf256 import PRODUCTS, Bytes
from workloads.datagrams.slot_window import SlotWindow
from workloads.events import CollectiveStarted, DatagramResent
from workloads.machine import Buffer
from workloads.repair.base import RepairHost
from workloads.repair.config import RepairConfig
from workloads.repair.packets import data_header
from workloads.repair.stored import symbols_of
from workloads.wire.aggregation import AGGREGATION_PORT, DatagramKind, encode_datagram
from workloads.wire.inspected import nearest_packet

__all__ = ["Donor"]


class Donor(RepairHost):
    """A Machine. It holds at the end what it held before: its own block."""

    def __init__(self, config: RepairConfig, *, start_ns: int = 0) -> None:
        super().__init__(config, start_ns=start_ns)
        collective = config.collective
        self._window = SlotWindow(config.window, config.rto_ns, collective.job << 32 | collective.rank)
        self._symbol: Bytes | None = None
        """shape (bytes,); None: between iterations"""
        share = config.share
        summed = config.share.code.alpha == 1
        matrix = self._code.repair_matrix(share.lost, share.donors)
        self._coefficient = int(matrix[0, config.collective.rank]) if summed else 1
        """of one symbol for one; where the newcomer makes several of all, it multiplies for itself"""

    def get_timer(self) -> int | None:
        first, timer = self._training.get_timer(), self._window.get_timer()
        return first if timer is None or (first is not None and first < timer) else timer

    def handle_timer(self, now: int) -> None:
        self._counts["timeouts"] += self._window.expire(now)
        if self._training.handle_timer(now):
            self._start()

    def receive_frame(self, port: int, frame: Buffer, now: int) -> None:
        found = self._receive(frame)
        if found is None:
            return
        header = found.header
        if header.kind != DatagramKind.ACK or not header.bitmap0 >> self._config.collective.rank & 1:
            self._reject("unexpected", f"kind {header.kind} for ranks {header.bitmap0:#x}")
            return
        packet = nearest_packet(header.sequence, self._window.first)
        if self._symbol is None or not self._window.is_outstanding(packet):
            self._counts["duplicates_received"] += 1
            return
        self._counts["results_received"] += 1
        self._window.settle(packet, now)
        if self._window.complete:
            self._symbol = None
            self._training.result[:] = self._training.gradient
            self._training.complete(now)

    def frames_to_send(self, now: int) -> Iterator[tuple[int, bytes]]:
        while (packet := self._window.take_ready()) is not None:
            waited_ns, before = now - self._window.progress_at, self._window.left(packet, now)
            self._counts["packets_sent"] += 1
            if before:
                self._counts["packets_retransmitted"] += 1
                slot = self._window.index_of(packet)
                self._events.append(
                    DatagramResent(self._job, packet, self._config.first_slot + slot, "timeout", before, waited_ns)
                )
            yield 0, self._encode(packet)

    def _start(self) -> None:
        """An iteration."""
        config, training = self._config, self._training
        symbol = self._code.donate(config.share.lost, symbols_of(training.gradient, self._code.alpha))
        self._symbol = PRODUCTS[self._coefficient][symbol] if config.op == "xor" else symbol
        self._events.append(CollectiveStarted(training.iteration, training.gradient.nbytes, config.blocks))
        self._window.start(config.blocks)

    def _encode(self, packet: int) -> bytes:
        """The same bytes each time."""
        config, symbol = self._config, self._symbol
        assert symbol is not None, "a packet is outstanding"
        start = (packet - self._window.first) * 4 * config.elements
        payload = np.ascontiguousarray(symbol[start : start + 4 * config.elements]).tobytes()
        header = data_header(config, packet, len(payload) // 4, self._coefficient, self._training.iteration)
        return encode_datagram(config.answers[0], AGGREGATION_PORT, header, payload)
