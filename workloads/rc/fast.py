"""The batch verbs of an endpoint on top of `fast.c`: MIDDLE packets and ACKs without a step of Python per packet.

The C part only writes, checks and places bytes; what that means for requester and responder is theirs (`middle_run`,
`sent_middles`, `middle_room`, `placed_middles`, `on_acks`). A differential test proves that frames, completions, events
and state are those of the per-frame verbs.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Sequence
from typing import ClassVar

from workloads.machine import FrameBatch
from workloads.native.build import load_library
from workloads.rc.queue_pair import QueuePair
from workloads.rc.send_plan import make_plan
from workloads.wire import ICRC_BYTES, PSN_MASK, Aeth, Opcode, psn_add

__all__ = ["FastPath", "load_fast_path"]

_AETH_BYTES = Aeth.LAYOUT.size
_ANSWER = struct.Struct("!II")
"""PSN; AETH"""
_ASKS = 16


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
        ("asked", ctypes.c_uint32),
        ("asks", ctypes.c_uint32 * _ASKS),
        ("una", ctypes.c_uint32),
        ("in_flight", ctypes.c_int32),
        ("acks", ctypes.c_uint32),
        ("newest", ctypes.c_int32),
    ]


def load_fast_path() -> FastPath | None:
    """None where the C core does not run; `native_status()` says why."""
    library = load_library("rc_fast")
    return None if library is None else FastPath(library)


class FastPath:
    """The fast path of one endpoint."""

    def __init__(self, library: ctypes.CDLL) -> None:
        pointer, number, size, octets = ctypes.c_void_p, ctypes.c_int, ctypes.c_size_t, ctypes.c_char_p
        word = ctypes.c_uint32
        rows = (pointer, size, pointer, pointer, number, number)
        self._accept, self._emit, self._answer = library.rc_accept, library.rc_emit, library.rc_answer
        self._accept.argtypes = [pointer, size, pointer, number, number, pointer, number]
        self._accept.restype = ctypes.c_int
        self._emit.argtypes = (*rows, octets, word, word, number, number, number)
        self._emit.restype = ctypes.c_int
        self._answer.argtypes = (*rows, octets, size, word, octets)
        self._answer.restype = None
        self._pairs: list[tuple[QueuePair, _Lane]] = []
        self._lanes = (_Lane * 0)()
        self._lanes_at = 0

    def set_qps(self, qps: Sequence[QueuePair]) -> None:
        """All queue pairs of the endpoint. Those over IPv6 keep to the reference when they receive."""
        plain = [qp for qp in qps if len(qp.config.envelope.src_ip) == 4]
        self._lanes = (_Lane * len(plain))()
        self._lanes_at = ctypes.addressof(self._lanes)
        self._pairs = list(zip(plain, self._lanes, strict=True))
        for qp, lane in self._pairs:
            envelope = qp.config.envelope
            lane.src_ip, lane.dst_ip = (int.from_bytes(ip, "big") for ip in (envelope.dst_ip, envelope.src_ip))
            lane.qpn, lane.payload_bytes = qp.config.qpn, qp.config.path_mtu
            qp.responder.touched = True

    def accept(self, batch: FrameBatch, row: int, now: int) -> int:
        """Receive rows from `row` on, up to the first one that is neither an in-order MIDDLE packet nor a plain ACK;
        returns that row."""
        for qp, lane in self._pairs:
            requester = qp.requester
            lane.una, lane.in_flight = requester.una & PSN_MASK, requester.max_nxt - requester.una
            if qp.responder.touched:
                _refresh(lane, qp)
        frames, stride, lengths, _ = batch.addresses
        after = int(self._accept(frames, stride, lengths, row, batch.count, self._lanes_at, len(self._lanes)))
        if after > row:
            for qp, lane in self._pairs:
                if taken := lane.taken:
                    qp.responder.placed_middles(taken, lane.asks[: lane.asked])
                    lane.taken = lane.asked = 0
                if acks := lane.acks:
                    qp.requester.on_acks(psn_add(lane.una, lane.newest), acks, now)
                    lane.acks = 0
        return after

    def emit(self, batch: FrameBatch, qp: QueuePair, limit: int, now: int) -> int:
        """Send request packets, at most `limit`, into the free rows; returns how many. Only when `can_send`."""
        requester, row = qp.requester, batch.count
        free = batch.capacity - row
        message, index, packets, closes = requester.next_run(free if free < limit else limit)
        plan = message.plan
        if plan is None:
            plan = message.plan = make_plan(message, qp.writer)
        frames, stride, lengths, ports = batch.addresses
        if plan.row_bytes > stride:
            raise ValueError(f"a frame of {plan.row_bytes} bytes does not fit a row of {stride}")
        since = self._emit(
            frames, stride, lengths, ports, row, packets, plan.octets, index, requester.nxt & PSN_MASK,
            requester.since_ack_request, qp.config.ack_request_every, closes,
        )  # fmt: skip
        batch.count = row + packets
        requester.sent(message, packets, since, now)
        return packets

    def answer(self, batch: FrameBatch, qp: QueuePair) -> None:
        """Send as many answers as there are free rows."""
        answers, row = qp.responder.answers, batch.count
        count = min(len(answers), batch.capacity - row)
        words = []
        for _ in range(count):
            psn, syndrome, msn = answers.popleft()
            words.append(_ANSWER.pack(psn, syndrome << 24 | msn))
        octets, state, _ = qp.writer.head(Opcode.ACKNOWLEDGE, _AETH_BYTES, 0)
        frames, stride, lengths, ports = batch.addresses
        size = len(octets) + _ANSWER.size + ICRC_BYTES
        if size > stride:
            raise ValueError(f"a frame of {size} bytes does not fit a row of {stride}")
        self._answer(frames, stride, lengths, ports, row, count, octets, len(octets), state, b"".join(words))
        batch.count = row + count


def _refresh(lane: _Lane, qp: QueuePair) -> None:
    responder = qp.responder
    responder.touched = False
    room = responder.middle_room()
    if room is None:
        lane.room = 0
        return
    place, is_write, count = room
    lane.destination = ctypes.addressof(ctypes.c_char.from_buffer(place))
    lane.psn, lane.room = responder.expected, count
    lane.opcode = Opcode.WRITE_MIDDLE if is_write else Opcode.SEND_MIDDLE
