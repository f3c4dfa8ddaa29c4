"""The batch verbs of an endpoint on top of `fast.c`: runs of MIDDLE packets without a step of Python per packet.

The C part only writes and places bytes; what a run means for requester and responder is theirs (`middle_run`,
`sent_middles`, `middle_room`, `placed_middles`). A differential test proves that frames, completions and events are those
of the per-frame verbs.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from workloads.machine import FrameBatch
from workloads.native.build import load_library
from workloads.rc.queue_pair import QueuePair
from workloads.wire import ICRC_BYTES, Opcode

__all__ = ["FastPath", "load_fast_path"]


_WORD = 4
"""AckReq and PSN"""


class _Lane(ctypes.Structure):
    """`struct rc_lane`."""

    _fields_: ClassVar = [
        ("destination", ctypes.c_void_p),
        ("src_ip", ctypes.c_uint32),
        ("dst_ip", ctypes.c_uint32),
        ("qpn", ctypes.c_uint32),
        ("psn", ctypes.c_uint32),
        ("opcode", ctypes.c_uint32),
        ("payload_bytes", ctypes.c_uint32),
        ("room", ctypes.c_uint32),
        ("taken", ctypes.c_uint32),
    ]


def load_fast_path() -> FastPath | None:
    """None where the C core does not run; `native_status()` says why."""
    library = load_library("rc_fast")
    return None if library is None else FastPath(library)


class FastPath:
    """The fast path of one endpoint."""

    def __init__(self, library: ctypes.CDLL) -> None:
        pointer, number, size = ctypes.c_void_p, ctypes.c_int, ctypes.c_size_t
        self._accept = library.rc_accept
        self._accept.argtypes = [pointer, size, pointer, number, number, pointer, number]
        self._accept.restype = ctypes.c_int
        self._emit = library.rc_emit
        self._emit.argtypes = [
            pointer, size, pointer, pointer, number, number, ctypes.c_char_p, size, ctypes.c_uint32, pointer, size,
            ctypes.c_uint32, number, number, number,
        ]  # fmt: skip
        self._emit.restype = None
        self._qps: list[QueuePair] = []
        self._lanes = (_Lane * 0)()
        self._lanes_at = 0
        self._open = 0
        """lanes with room"""
        self._batch: FrameBatch | None = None
        self._frames: object = None
        self._batch_at = (0, 0, 0)

    def set_qps(self, qps: Sequence[QueuePair]) -> None:
        """All queue pairs of the endpoint. Those over IPv6 keep to the reference when they receive."""
        self._qps = [qp for qp in qps if len(qp.config.envelope.src_ip) == 4]
        self._lanes = (_Lane * len(self._qps))()
        self._lanes_at = ctypes.addressof(self._lanes)
        self._open = 0
        for qp, lane in zip(self._qps, self._lanes, strict=True):
            envelope = qp.config.envelope
            lane.src_ip, lane.dst_ip = (int.from_bytes(ip, "big") for ip in (envelope.dst_ip, envelope.src_ip))
            lane.qpn, lane.payload_bytes = qp.config.qpn, qp.config.path_mtu
            qp.responder.touched = True

    def accept(self, batch: FrameBatch, row: int) -> int:
        """Receive rows from `row` on, up to the first one that is no plain in-order MIDDLE packet; returns that row."""
        lanes = self._lanes
        for index, qp in enumerate(self._qps):
            if qp.responder.touched:
                self._refresh(lanes[index], qp)
        if not self._open:
            return row
        frames, lengths, _ = self._addresses(batch)
        after = int(self._accept(frames, batch.stride, lengths, row, batch.count, self._lanes_at, len(lanes)))
        if after > row:
            for index, qp in enumerate(self._qps):
                lane = lanes[index]
                if lane.taken:
                    qp.responder.placed_middles(lane.taken)
                    lane.taken = 0
                    self._open -= not lane.room
        return after

    def _refresh(self, lane: _Lane, qp: QueuePair) -> None:
        responder = qp.responder
        responder.touched = False
        room = responder.middle_room()
        self._open += (room is not None) - bool(lane.room)
        if room is None:
            lane.room = 0
            return
        place, is_write, count = room
        lane.destination = ctypes.addressof(ctypes.c_char.from_buffer(place))
        lane.psn, lane.room = responder.expected, count
        lane.opcode = Opcode.WRITE_MIDDLE if is_write else Opcode.SEND_MIDDLE

    def emit(self, batch: FrameBatch, qp: QueuePair, limit: int, now: int) -> int:
        """Send a run of MIDDLE packets, at most `limit`, into the free rows; returns how many. 0: it is no MIDDLE packet's
        turn."""
        run = qp.requester.middle_run(min(limit, batch.capacity - batch.count))
        if run is None:
            return 0
        message, opcode, segment, offset, psn, count, until_ack, ack_every, last_asks = run
        head = qp.writer.head(opcode, 0, message.mtu)
        size = len(head.octets) + _WORD + message.mtu + ICRC_BYTES
        if size > batch.stride:
            raise ValueError(f"a frame of {size} bytes does not fit a row of {batch.stride}")
        if message.addresses is None:
            message.addresses = [np.frombuffer(s, np.uint8).ctypes.data for s in message.segments]
        frames, lengths, ports = self._addresses(batch)
        self._emit(
            frames, batch.stride, lengths, ports, batch.count, count, head.octets, len(head.octets), head.state,
            message.addresses[segment] + offset, message.mtu, psn, until_ack, ack_every, last_asks,
        )  # fmt: skip
        batch.count += count
        qp.requester.sent_middles(run, now)
        return count

    def _addresses(self, batch: FrameBatch) -> tuple[int, int, int]:
        """Of frames, lengths and ports. Looking them up costs more than the call into C."""
        if batch is not self._batch or batch.frames is not self._frames:
            if not (batch.frames.flags.c_contiguous and batch.lengths.flags.c_contiguous):
                raise ValueError("the rows of a FrameBatch must lie one behind the other")
            self._batch, self._frames = batch, batch.frames
            self._batch_at = batch.frames.ctypes.data, batch.lengths.ctypes.data, batch.ports.ctypes.data
        return self._batch_at
