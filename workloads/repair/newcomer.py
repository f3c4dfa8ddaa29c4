"""The newcomer: it puts the lost block together of what donors or switches send, and acknowledges each packet.

Addition is XOR, so a packet that is added twice is not there at all: a bitmap for each block says whose symbols are in.
"""

from __future__ import annotations

from collections import deque

import cython
import numpy as np

from workloads.codes.gf256 import Bytes, add_scaled
from workloads.datagrams.arrival import Arrival
from workloads.datagrams.blocks import BlockSummed
from workloads.events import CollectiveStarted
from workloads.repair.base import RepairHost
from workloads.repair.config import RepairConfig
from workloads.repair.packets import coefficient_of, data_header
from workloads.repair.stored import words_of
from workloads.wire.aggregation import AGGREGATION_PORT, DatagramKind, encode_datagram

if not cython.compiled:
    from workloads.datagrams.answer import acknowledgement_of
    from workloads.kernels import bit_of
    from workloads.wire.inspected import nearest_packet

__all__ = ["Newcomer"]

_DATA, _RESULT, _REMINDER = int(DatagramKind.DATA), int(DatagramKind.RESULT), int(DatagramKind.REMINDER)


class Newcomer(RepairHost):
    """A Machine. A subclass may override what has no underscore."""

    def __init__(self, config: RepairConfig, *, start_ns: int = 0) -> None:
        RepairHost.__init__(self, config, start_ns=start_ns)
        matrix = self._code.repair_matrix(config.share.lost, config.share.donors)
        self._columns = [column.tolist() for column in matrix.T] if self._code.alpha > 1 else None
        """factors of each rank's symbol, one for each symbol of the block; None: packets name the factor, or it was
        applied"""
        self._combined, self._everyone, self._blocks = config.combined, config.everyone, config.blocks
        self._elements, self._symbol_words = config.elements, config.symbol_bytes // 4
        self._ranks = {int.from_bytes(answer.dst_ip, "big"): rank for rank, answer in enumerate(config.answers)}
        """ranks of donors, by IPv4 address"""
        header = data_header(config, 1, 0)._replace(bitmap0=0)
        self._templates = [encode_datagram(answer, AGGREGATION_PORT, header, b"") for answer in config.answers]
        self._first_block = 0
        """first block of the iteration that runs or comes next"""
        self._block: Bytes | None = None
        """shape (alpha, bytes); None: between iterations"""
        self._inside: list[int] = []
        """bitmap of the donors whose symbols are in, by packet of the iteration"""
        self._entered: list[list[int]] = []
        """number of times that each packet was added, by packet and rank; only for events"""
        self._missing = 0
        self._early: dict[tuple[int, int], bytes] = {}
        """(block, bitmap): frames of the next iteration, whose donors are faster"""
        self._leaving: deque[bytes] = deque()

    def take_packet(self, found: Arrival, now: int) -> None:
        packet = nearest_packet(found.sequence, self._first_block)
        if packet < 0:
            self.reject("unexpected", f"sequence number {found.sequence}, which no packet has had yet")
        elif found.kind == _REMINDER and self._combined:
            if self.has(packet, self._everyone):
                self.acknowledge(found, self._everyone)
        elif found.kind != (_RESULT if self._combined else _DATA) or not self._can_be(found):
            what = f"kind {found.kind} with {found.count} elements of ranks {hex(found.bitmap)}"
            self.reject("unexpected", what)
        else:
            self.take_symbols(found, packet, now)

    def give(self, now: int) -> bytes | None:
        if not self._leaving:
            return None
        following: bytes = self._leaving.popleft()
        return following

    def _can_be(self, found: Arrival) -> bool:
        """Whose symbols it brings: all that switches combined, or those of the donor that sent it."""
        if self._combined:
            return found.bitmap == self._everyone
        rank: int = self._ranks.get(found.source, -1)
        return rank >= 0 and found.bitmap == bit_of(rank)

    def has(self, packet: int, bitmap: int) -> bool:
        """Whether those donors' symbols of a packet are in; all are of iterations that are over."""
        own = packet - self._first_block
        if own < 0:
            return True
        if own >= len(self._inside):
            return False
        inside: int = self._inside[own]
        return inside & bitmap == bitmap

    def take_symbols(self, found: Arrival, packet: int, now: int) -> None:
        own, bitmap = packet - self._first_block, found.bitmap
        if self.has(packet, bitmap):
            self._duplicates += 1
            self.acknowledge(found, bitmap)
            return
        if self._block is None or self._is_ahead(own):
            if own < len(self._inside) + self._config.window:
                self._early[packet, bitmap] = found.frame
            return
        if own >= self._blocks or found.count != self._words_in(own):
            self.reject("bad_result", f"block {packet} with {found.count} elements")
            return
        self._add(found, own)
        self.acknowledge(found, bitmap)
        if self._inside[own] == self._everyone:
            self._complete_block(packet, own, found.slot, now)

    def _is_ahead(self, own: int) -> bool:
        """Whether a packet is of the next iteration: its donor has all acknowledgements of this one."""
        return len(self._inside) <= own and self._iteration + 1 < self._config.workload.iterations

    def _words_in(self, own: int) -> int:
        left = self._symbol_words - own * self._elements
        return self._elements if left > self._elements else left

    def _add(self, found: Arrival, own: int) -> None:
        assert self._block is not None, "an iteration runs"
        start, bitmap, rank = own * 4 * self._config.elements, found.bitmap, 0
        data = np.frombuffer(found.frame, np.uint8, 4 * found.count, found.at)
        scales = [coefficient_of(found)] if self._columns is None else self._columns[self._ranks[found.source]]
        for row, scale in zip(self._block[:, start : start + len(data)], scales, strict=True):
            add_scaled(row, scale, data)
        self._inside[own] |= bitmap
        entered = self._entered[own]
        while bitmap:
            entered[rank] += bitmap & 1
            bitmap, rank = bitmap >> 1, rank + 1
        self._results += 1

    def acknowledge(self, found: Arrival, bitmap: int) -> None:
        """Acknowledge to the switch, for all donors; or to the donor that sent it."""
        template = self._templates[0 if self._combined else self._ranks[found.source]]
        self._leaving.append(acknowledgement_of(found, template, bitmap, found.flags))
        self._sent += 1

    def begin(self, now: int) -> None:
        config, training = self._config, self._training
        self.events.append(CollectiveStarted(training.iteration, training.gradient.nbytes, self._blocks))
        self._block = np.zeros((self._code.alpha, config.symbol_bytes), np.uint8)
        self._inside = [0] * self._blocks
        self._entered = [[0] * self._size for _ in self._inside]
        self._missing = self._blocks
        early, self._early = self._early, {}
        for frame in early.values():
            self._found.read(frame)
            self.take_symbols(self._found, nearest_packet(self._found.sequence, self._first_block), now)

    def _complete_block(self, packet: int, own: int, slot: int, now: int) -> None:
        if not self._combined:
            self.events.append(BlockSummed(self._job, packet, slot, tuple(self._entered[own])))
        self._missing -= 1
        if self._missing:
            return
        training = self._training
        assert self._block is not None, "an iteration runs"
        training.result[:] = words_of(self._block, training.result.dtype)
        self._block, self._inside = None, []
        self._first_block += self._blocks
        self.complete(now)
