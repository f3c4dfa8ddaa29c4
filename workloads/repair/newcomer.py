"""The newcomer: it puts the lost block together of what donors or switches send, and acknowledges each packet.

Addition is XOR, so a packet that is added twice is not there at all: a bitmap for each block says whose symbols are in.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

import numpy as np

from workloads.codes.gf256 import Bytes, add_scaled
from workloads.datagrams.blocks import BlockSummed
from workloads.events import CollectiveStarted
from workloads.machine import Buffer
from workloads.repair.base import RepairHost
from workloads.repair.config import RepairConfig
from workloads.repair.packets import coefficient_of, reply
from workloads.repair.stored import words_of
from workloads.wire.aggregation import AGGREGATION_PORT, Datagram, DatagramKind, encode_datagram
from workloads.wire.inspected import nearest_packet

__all__ = ["Newcomer"]


class Newcomer(RepairHost):
    """A Machine."""

    def __init__(self, config: RepairConfig, *, start_ns: int = 0) -> None:
        super().__init__(config, start_ns=start_ns)
        matrix = self._code.repair_matrix(config.share.lost, config.share.donors)
        self._columns = [column.tolist() for column in matrix.T] if self._code.alpha > 1 else None
        """by rank: what its symbol is multiplied by for each symbol of the block; None: packets say it, or it is
        done"""
        self._block: Bytes | None = None
        """shape (alpha, bytes); None: between iterations"""
        self._inside: list[int] = []
        """by packet of the iteration: bitmap of the donors whose symbols are in"""
        self._entered: list[list[int]] = []
        """by packet and rank, how often it was added: what is told, and decides nothing"""
        self._missing = 0
        self._early: dict[tuple[int, int], bytes] = {}
        """(block, bitmap): frames of the next iteration, whose donors are faster"""
        self._leaving: deque[bytes] = deque()

    def get_timer(self) -> int | None:
        return self._training.get_timer()

    def handle_timer(self, now: int) -> None:
        if self._training.handle_timer(now):
            self._start(now)

    def receive_frame(self, port: int, frame: Buffer, now: int) -> None:
        found = self._receive(frame)
        if found is None:
            return
        header = found.header
        packet = nearest_packet(header.sequence, self._first_block)
        if packet < 0:
            self._reject("unexpected", f"sequence number {header.sequence}, which no packet has had yet")
            return
        if header.kind == DatagramKind.REMINDER and self._config.combined:
            if self._has(packet, self._config.everyone):
                self._acknowledge(found, self._config.everyone)
            return
        wanted = DatagramKind.RESULT if self._config.combined else DatagramKind.DATA
        if header.kind != wanted or not self._can_be(found):
            self._reject("unexpected", f"kind {header.kind} with {header.nelem} elements of ranks {header.bitmap0:#x}")
            return
        self._take(found, packet, frame, now)

    def frames_to_send(self, now: int) -> Iterator[tuple[int, bytes]]:
        while self._leaving:
            yield 0, self._leaving.popleft()

    def _can_be(self, found: Datagram) -> bool:
        """Whose symbols it brings: all that switches combined, or those of the donor that sent it."""
        bitmap, config = found.header.bitmap0, self._config
        if config.combined:
            return bitmap == config.everyone
        senders = [rank for rank, envelope in enumerate(config.answers) if envelope.dst_ip == found.src_ip]
        return bool(senders) and bitmap == 1 << senders[0]

    def _has(self, packet: int, bitmap: int) -> bool:
        """Whether those donors' symbols of a packet are in; all are of iterations that are over."""
        own = packet - self._first_block
        if own < 0:
            return True
        return own < len(self._inside) and self._inside[own] & bitmap == bitmap

    def _take(self, found: Datagram, packet: int, frame: Buffer, now: int) -> None:
        header, own = found.header, packet - self._first_block
        if self._has(packet, header.bitmap0):
            self._counts["duplicates_received"] += 1
            self._acknowledge(found, header.bitmap0)
            return
        if self._block is None or self._is_ahead(own):
            if own < len(self._inside) + self._config.window:
                self._early[packet, header.bitmap0] = bytes(frame)
            return
        if own >= self._config.blocks or header.nelem != self._words_in(own):
            self._reject("bad_result", f"block {packet} with {header.nelem} elements")
            return
        self._add(found, own)
        self._acknowledge(found, header.bitmap0)
        if self._inside[own] == self._config.everyone:
            self._complete_block(packet, own, header.slot, now)

    def _is_ahead(self, own: int) -> bool:
        """Of the next iteration: its donor has all of its acknowledgements of this one."""
        training = self._training
        return len(self._inside) <= own and training.iteration + 1 < self._config.workload.iterations

    def _words_in(self, own: int) -> int:
        config = self._config
        return min(config.elements, config.symbol_bytes // 4 - own * config.elements)

    def _add(self, found: Datagram, own: int) -> None:
        assert self._block is not None, "an iteration runs"
        header, start = found.header, own * 4 * self._config.elements
        data = np.frombuffer(found.payload, np.uint8)
        place = self._block[:, start : start + len(data)]
        ranks = [rank for rank in range(self._config.share.d) if header.bitmap0 >> rank & 1]
        scales = [coefficient_of(header)] if self._columns is None else self._columns[ranks[0]]
        for row, scale in zip(place, scales, strict=True):
            add_scaled(row, scale, data)
        self._inside[own] |= header.bitmap0
        for rank in ranks:
            self._entered[own][rank] += 1
        self._counts["results_received"] += 1

    def _acknowledge(self, found: Datagram, bitmap: int) -> None:
        """To the switch, for all donors; or to the one that sent it."""
        answers = self._config.answers
        envelope = answers[0] if self._config.combined else answers[bitmap.bit_length() - 1]
        header = reply(found.header, DatagramKind.ACK, bitmap)
        self._leaving.append(encode_datagram(envelope, AGGREGATION_PORT, header, b""))
        self._counts["packets_sent"] += 1

    def _start(self, now: int) -> None:
        """An iteration."""
        config, training = self._config, self._training
        self._events.append(CollectiveStarted(training.iteration, training.gradient.nbytes, config.blocks))
        self._block = np.zeros((self._code.alpha, config.symbol_bytes), np.uint8)
        self._inside = [0] * config.blocks
        self._entered = [[0] * config.collective.size for _ in self._inside]
        self._missing = config.blocks
        early, self._early = self._early, {}
        for frame in early.values():
            found = self._receive(frame)
            assert found is not None, "it was read before"
            self._take(found, nearest_packet(found.header.sequence, self._first_block), frame, now)

    def _complete_block(self, packet: int, own: int, slot: int, now: int) -> None:
        if not self._config.combined:
            self._events.append(BlockSummed(self._job, packet, slot, tuple(self._entered[own])))
        self._missing -= 1
        if self._missing:
            return
        training = self._training
        assert self._block is not None, "an iteration runs"
        training.result[:] = words_of(self._block, training.result.dtype)
        self._block, self._inside = None, []
        self._first_block += self._config.blocks
        training.complete(now)
