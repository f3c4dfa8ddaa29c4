"""The batch verbs of an endpoint with IRN on top of `irn.c`. A differential test proves that frames, completions,
events and state equal those of the per-frame verbs."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Sequence
from functools import cache
from typing import Any

from workloads.machine import FrameBatch
from workloads.native.address import address_of
from workloads.native.build import load_library
from workloads.native.layout import check_layout
from workloads.rc.attention import Attention
from workloads.rc.fast import fill_answers
from workloads.rc.irn_compiled import IrnPairs, check_irn
from workloads.rc.memory import MemoryRegions
from workloads.rc.queue_pair import QueuePair

__all__ = ["IrnFastPath", "load_irn_fast_path"]

_REGION = struct.Struct("=QQQII")
_NO_TURN = 0, 0, 0
PORT = 0


def load_irn_fast_path() -> IrnFastPath | None:
    """None where the C core does not run; `native_status()` says why."""
    library = load_library("rc_fast")
    return None if library is None else IrnFastPath(library)


@cache
def _functions(library: ctypes.CDLL) -> tuple[Any, Any, Any]:
    """irn_accept, irn_emit, rc_answer."""
    check_irn(library)
    check_layout(library, "rc_region", {"va": 0, "bytes": 8, "memory": 16, "rkey": 24}, _REGION.size)
    pointer, number, size, octets = ctypes.c_void_p, ctypes.c_int, ctypes.c_size_t, ctypes.c_char_p
    accept, emit, answer = library.irn_accept, library.irn_emit, library.rc_answer
    accept.argtypes = [pointer, pointer, size, pointer, number, number, ctypes.c_int64]
    emit.argtypes = [pointer, pointer, size, pointer, pointer, number, number, number, ctypes.c_int64]
    accept.restype = emit.restype = ctypes.c_int
    answer.argtypes = [pointer, size, pointer, pointer, number, number, octets, size, ctypes.c_uint32, octets, size]
    answer.restype = None
    return accept, emit, answer


class IrnFastPath:
    """The fast path of one endpoint."""

    def __init__(self, library: ctypes.CDLL) -> None:
        self._accept, self._emit, self._answer = _functions(library)
        self._numbers: dict[QueuePair, int] = {}
        self.pairs = IrnPairs((), Attention())
        self._regions = b""
        self.regions = 0, 0
        """address and number of `struct rc_region`"""

    def set_qps(self, qps: Sequence[QueuePair], attention: Attention) -> None:
        """All queue pairs of the endpoint; each `can_be_compiled_irn`. Those over IPv6 use the reference when they
        receive."""
        self.pairs = IrnPairs(qps, attention)
        self._numbers = {qp: number for number, qp in enumerate(qps)}

    def set_regions(self, regions: MemoryRegions) -> None:
        """The memory that peers may write. What C cannot name stays with the reference."""
        known = [
            _REGION.pack(va, len(memory), address_of(memory), rkey, endless)
            for rkey, va, memory, endless in regions.all()
            if memory and 0 <= va < 1 << 64 and 0 <= rkey < 1 << 32
        ]
        self._regions = b"".join(known)
        self.regions = (address_of(self._regions), len(known)) if known else (0, 0)

    def accept(self, batch: FrameBatch, row: int, now: int) -> int:
        """Receive rows from `row` on, up to the first one that is not the plain case; returns that row."""
        pairs, count = self.pairs, batch.count
        if not pairs.give(self.regions, _NO_TURN, None):
            return row
        frames, stride, lengths, _ = batch.addresses
        while row < count:
            row = self._accept(pairs.address, frames, stride, lengths, row, count, now)
            if not pairs.drain():
                break
        pairs.take()
        return row

    def emit(self, batch: FrameBatch, qp: QueuePair, limit: int, now: int) -> int:
        """Send request packets, at most `limit`, into the free rows; returns how many. Only when `can_send`."""
        row, pairs, index = batch.count, self.pairs, self._numbers[qp]
        frames, stride, lengths, ports = batch.addresses
        if pairs.give_one(index):
            count = min(limit, batch.capacity - row)
            batch.count = self._emit(pairs.address, frames, stride, lengths, ports, row, count, index, now)
            pairs.take_one(index)
        if batch.count == row:
            frame = qp.next_request(now)
            assert frame is not None
            batch.append(PORT, frame)
        return batch.count - row

    def answer(self, batch: FrameBatch, qp: QueuePair) -> None:
        """Send as many answers as there are free rows."""
        qp.touch()
        fill_answers(self._answer, batch, qp)
