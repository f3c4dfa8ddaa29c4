"""The batch verbs of an endpoint on top of `fast.c`: requests and ACKs without a step of Python per packet.

The C part only writes, checks and places bytes, of go-back-N connections; what that means for both halves is theirs,
asked through `compiled.CompiledPair` and `responder.Responder`. A differential test proves that frames, completions,
events and state are those of the per-frame verbs.
"""

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
from workloads.rc.compiled import CompiledPair
from workloads.rc.memory import MemoryRegions
from workloads.rc.message import OutMessage, SendPlan
from workloads.rc.queue_pair import QueuePair
from workloads.rc.responder import Responder
from workloads.rc.send_plan import PLAN_BYTES, PLAN_PARTS, make_plan
from workloads.wire import ICRC_BYTES, PSN_MASK, Aeth, Opcode, Sack
from workloads.wire.headers import BTH_WORDS
from workloads.wire.layout import packer_of

__all__ = ["CONTEXT_BYTES", "FastPath", "fill_answers", "load_fast_path"]

_ANSWER, _SACK = packer_of(BTH_WORDS[-1], Aeth.LAYOUT.words(("syndrome", "msn"))), Sack.LAYOUT.packer()
"""PSN and AETH; behind them, under IRN: cumulative and selective"""
_WORD_BYTES = 4
"""AckReq and PSN"""
_ANSWERS = 64


# `struct rc_qp_context`, part by part.
_ARRIVAL = struct.Struct("=QQIIIi")
"""destination, bytes left, kind, receives, expected PSN, unacknowledged"""
_CONNECTION = struct.Struct("=IIIIi4x")
_SENT = struct.Struct("=Ii")
_CAME = struct.Struct("=IiII")
"""ACKs, their furthest, requests taken, flags"""
_PLACED = struct.Struct("=QQIIII")
"""bytes, va, rkey, length, imm, number of answers"""
_EXPECTED = struct.Struct("=Ii")
_CONNECTION_AT = _ARRIVAL.size
_SENT_AT = _CONNECTION_AT + _CONNECTION.size
_CAME_AT = _SENT_AT + _SENT.size
_PLACED_AT = _CAME_AT + _CAME.size
_ANSWERS_AT = _PLACED_AT + _PLACED.size
_EXPECTED_AT = 24
CONTEXT_BYTES = _ANSWERS_AT + 4 * _ANSWERS
_SHUT, _BETWEEN, _IN_WRITE, _IN_SEND = range(4)
_OPENED, _CLOSED, _WITH_IMM, _CLOSE_ANSWERED = 1, 2, 4, 8
_REGION = struct.Struct("=QQQI4x")


def load_fast_path() -> FastPath | None:
    """None where the C core does not run; `native_status()` says why."""
    library = load_library("rc_fast")
    return None if library is None else FastPath(library)


@cache
def _functions(library: ctypes.CDLL) -> tuple[Any, Any, Any]:
    """rc_accept, rc_emit, rc_answer."""
    context = {
        "destination": 0, "psn": _EXPECTED_AT, "unacknowledged": _EXPECTED_AT + 4, "src_ip": _CONNECTION_AT,
        "una": _SENT_AT,
        "acks": _CAME_AT, "placed": _PLACED_AT, "answers": _ANSWERS_AT,
    }  # fmt: skip
    check_layout(library, "rc_qp_context", context, CONTEXT_BYTES)
    check_layout(library, "rc_region", {"va": 0, "bytes": 8, "memory": 16, "rkey": 24}, _REGION.size)
    check_layout(library, "rc_plan", PLAN_PARTS, PLAN_BYTES)
    pointer, number, size, octets = ctypes.c_void_p, ctypes.c_int, ctypes.c_size_t, ctypes.c_char_p
    word = ctypes.c_uint32
    rows = (pointer, size, pointer, pointer, number, number)
    accept, emit, answer = library.rc_accept, library.rc_emit, library.rc_answer
    accept.argtypes = [pointer, size, pointer, number, number, pointer, number, octets, number]
    accept.restype = ctypes.c_int
    emit.argtypes = (*rows, octets, word, word, number, number, number)
    emit.restype = ctypes.c_int
    answer.argtypes = (*rows, octets, size, word, octets, size)
    answer.restype = None
    return accept, emit, answer


class FastPath:
    """The fast path of one endpoint."""

    def __init__(self, library: ctypes.CDLL) -> None:
        self._accept, self._emit, self._answer = _functions(library)
        self._compiled: dict[QueuePair, CompiledPair] = {}
        self._pairs: list[tuple[CompiledPair, int]] = []
        self.attention = Attention()
        self._contexts = bytearray(1)
        self._words = memoryview(bytearray())
        self._contexts_at = 0
        self._regions, self.region_count = b"", 0
        self.regions_at = 0
        """`struct rc_region[region_count]`"""

    def set_qps(self, qps: Sequence[QueuePair], attention: Attention) -> None:
        """All queue pairs of the endpoint; each `can_be_compiled`. Pairs over IPv6 use the reference when they
        receive."""
        self._compiled, self.attention = {qp: CompiledPair(qp) for qp in qps}, attention
        plain = [qp for qp in qps if len(qp.config.envelope.src_ip) == 4]
        self._contexts = bytearray(max(1, len(plain)) * CONTEXT_BYTES)
        self._words = memoryview(self._contexts).cast("I")
        self._contexts_at = address_of(self._contexts)
        self._pairs = [(self._compiled[qp], i * CONTEXT_BYTES) for i, qp in enumerate(plain)]
        for pair, at in self._pairs:
            config, envelope = pair.qp.config, pair.qp.config.envelope
            src_ip, dst_ip = (int.from_bytes(ip, "big") for ip in (envelope.dst_ip, envelope.src_ip))
            _CONNECTION.pack_into(
                self._contexts, at + _CONNECTION_AT, src_ip, dst_ip, config.qpn, config.path_mtu, config.ack_every
            )
            pair.responder.touched = True

    def set_regions(self, regions: MemoryRegions) -> None:
        """The memory that peers may write. What C cannot name stays with the reference."""
        known = [
            _REGION.pack(va, len(memory), address_of(memory), rkey)
            for rkey, va, memory in regions
            if memory and 0 <= va < 1 << 64 and 0 <= rkey < 1 << 32
        ]
        self._regions, self.region_count = b"".join(known), len(known)
        self.regions_at = address_of(self._regions) if known else 0

    def accept(self, batch: FrameBatch, row: int, now: int) -> int:
        """Receive rows from `row` on, up to the first one that is not the plain case; returns that row."""
        contexts, pairs, count = self._contexts, self._pairs, batch.count
        frames, stride, lengths, _ = batch.addresses
        while True:
            for pair, at in pairs:
                sender = pair.sender
                una = sender.una
                _SENT.pack_into(contexts, at + _SENT_AT, una & PSN_MASK, sender.max_nxt - una)
                if pair.responder.touched:
                    self._refresh(pair.responder, at)
            after: int = self._accept(
                frames, stride, lengths, row, count, self._contexts_at, len(pairs), self._regions, self.region_count
            )
            if after == row:
                return row
            closed: tuple[Responder, int, int, int] | None = None
            for pair, at in pairs:
                acks, newest, taken, flags = _CAME.unpack_from(contexts, at + _CAME_AT)
                if acks or taken:
                    pair.qp.touch()
                if acks:
                    pair.on_acks(newest, acks, now)
                if flags & _CLOSED:
                    closed = pair.responder, at, taken, flags
                elif taken:
                    self._place(pair.responder, at, taken, flags)
            if closed is None:
                return after
            self._place(*closed)  # it was in the last row, so its completion comes last
            if after == count:
                return after
            row = after

    def refresh(self) -> int:
        """Update all contexts from their requesters and responders. Returns the address of `struct rc_qp_context[]`,
        one for each queue pair over IPv4 in the order of `set_qps`."""
        for pair, at in self._pairs:
            una = pair.sender.una
            _SENT.pack_into(self._contexts, at + _SENT_AT, una & PSN_MASK, pair.sender.max_nxt - una)
            if pair.responder.touched:
                self._refresh(pair.responder, at)
        return self._contexts_at

    def expected(self, index: int) -> int:
        """The PSN that the context of that index waits for."""
        return int(_EXPECTED.unpack_from(self._contexts, self._pairs[index][1] + _EXPECTED_AT)[0])

    def carry_on(
        self, index: int, taken: int, size: int, flags: int, queued: int, duplicates: int, gaps: int, in_gap: bool
    ) -> None:
        """Since `refresh`, the context of that index took `taken` requests of `size` bytes in total. At most the last
        one ended its message. Also `duplicates` duplicates came, and `gaps` gaps showed. The `queued` necessary ACKs,
        except one for that end, and the NAKs are in the queue already. `in_gap`: the expected packet did not come
        since the last NAK."""
        pair, at = self._pairs[index]
        pair.qp.touch()
        contexts, responder = self._contexts, pair.responder
        _, va, rkey, length, imm, _ = _PLACED.unpack_from(contexts, at + _PLACED_AT)
        expected, unacknowledged = _EXPECTED.unpack_from(contexts, at + _EXPECTED_AT)
        if flags & _OPENED:
            responder.open_write(rkey, va, length)
        if taken:
            responder.placed(taken, size, expected, unacknowledged, ())
        responder.answered(queued, duplicates, unacknowledged, gaps, in_gap)
        if flags & _CLOSED:
            responder.close_write(imm if flags & _WITH_IMM else None, flags & _CLOSE_ANSWERED != 0)

    def compiled(self, qp: QueuePair) -> CompiledPair:
        """One of `set_qps`."""
        return self._compiled[qp]

    def plan_of(self, message: OutMessage, qp: QueuePair) -> SendPlan:
        """The message as `rc_emit` wants it, made once."""
        plan = message.plan
        if plan is None:
            plan = message.plan = make_plan(message, qp.writer)
        return plan

    def _place(self, responder: Responder, at: int, taken: int, flags: int) -> None:
        """Requests to it were taken."""
        contexts = self._contexts
        size, va, rkey, length, imm, answered = _PLACED.unpack_from(contexts, at + _PLACED_AT)
        expected, unacknowledged = _EXPECTED.unpack_from(contexts, at + _EXPECTED_AT)
        if flags & _OPENED:
            responder.open_write(rkey, va, length)
        first = (at + _ANSWERS_AT) // 4
        close_answered = flags & _CLOSE_ANSWERED != 0
        answers = self._words[first : first + answered - close_answered]
        responder.placed(taken, size, expected, unacknowledged, answers)
        if flags & _CLOSED:
            responder.close_write(imm if flags & _WITH_IMM else None, close_answered)

    def _refresh(self, responder: Responder, at: int) -> None:
        responder.touched = False
        shut, place, is_write, receives, unacknowledged = responder.arrival()
        kind, destination, left = _SHUT if shut else _BETWEEN, 0, 0
        if place:
            kind, destination, left = _IN_WRITE if is_write else _IN_SEND, address_of(place), len(place)
        elif place is not None:
            kind = _SHUT  # full: whatever comes is the reference's
        _ARRIVAL.pack_into(self._contexts, at, destination, left, kind, receives, responder.expected, unacknowledged)

    def emit(self, batch: FrameBatch, qp: QueuePair, limit: int, now: int) -> int:
        """Send request packets, at most `limit`, into the free rows; returns how many. Only when `can_send`."""
        pair, row = self._compiled[qp], batch.count
        sender, free = pair.sender, batch.capacity - row
        message, index, packets, closes = pair.next_run(free if free < limit else limit)
        plan = self.plan_of(message, qp)
        frames, stride, lengths, ports = batch.addresses
        if plan.row_bytes > stride:
            raise ValueError(f"a frame of {plan.row_bytes} bytes does not fit a row of {stride}")
        since = self._emit(
            frames, stride, lengths, ports, row, packets, plan.octets, index, sender.nxt & PSN_MASK,
            sender.since_ack_request, qp.config.ack_request_every, closes,
        )  # fmt: skip
        batch.count = row + packets
        sender.sent(message, packets, since, now)
        qp.touch()
        return packets

    def answer(self, batch: FrameBatch, qp: QueuePair) -> None:
        """Send as many answers as there are free rows."""
        qp.touch()
        fill_answers(self._answer, batch, qp)


def fill_answers(answer: Any, batch: FrameBatch, qp: QueuePair) -> None:
    """The same by `rc_answer`. All answers of a queue pair are of one opcode; those with a map are longer."""
    answers = qp.responder.answers
    while answers and batch.count < batch.capacity:
        _fill_run(answer, batch, qp, len(answers[0].payload))


def _fill_run(answer: Any, batch: FrameBatch, qp: QueuePair, payload_bytes: int) -> None:
    """Answers of equal length."""
    answers, row = qp.responder.answers, batch.count
    words, count = [], 0
    opcode, body_bytes = Opcode.ACKNOWLEDGE, _ANSWER.size
    while answers and row + count < batch.capacity and len(answers[0].payload) == payload_bytes:
        psn, syndrome, msn, sack, payload = answers.popleft()
        words.append(_ANSWER.pack(psn, syndrome << 24 | msn))
        if sack is not None:
            opcode, body_bytes = Opcode.IRN_ANSWER, _ANSWER.size + _SACK.size
            words += _SACK.pack(sack.cumulative, sack.selective), payload
        count += 1
    octets, state, _ = qp.writer.head(opcode, body_bytes - _WORD_BYTES, payload_bytes)
    body_bytes += payload_bytes
    frames, stride, lengths, ports = batch.addresses
    size = len(octets) + body_bytes + ICRC_BYTES
    if size > stride:
        raise ValueError(f"a frame of {size} bytes does not fit a row of {stride}")
    answer(frames, stride, lengths, ports, row, count, octets, len(octets), state, b"".join(words), body_bytes)
    batch.count = row + count
