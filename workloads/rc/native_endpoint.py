"""An endpoint that compiled code keeps for a while (`native_endpoint.c`): handed over, driven frame by frame, taken
back.

While it is held its queue pairs in Python lag behind, and only the compiled code may touch them. `take_back` brings
them to the state that the per-frame verbs would have reached. A differential test of the simulator's two loops proves
it.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Sequence
from itertools import accumulate, islice
from typing import TYPE_CHECKING, Protocol

from workloads.native.address import address_of
from workloads.native.layout import check_layout
from workloads.rc.attention import members
from workloads.rc.carried import HeldRing
from workloads.rc.compiled import CompiledPair, Standing
from workloads.rc.fast import FastPath
from workloads.rc.go_back_n import Reached
from workloads.rc.queue_pair import QueuePair
from workloads.rc.responder import Responder
from workloads.wire import ACK_UNLIMITED, PSN_MASK, Aeth, Opcode

if TYPE_CHECKING:
    from workloads.collectives.plain_ring import PlainRing

__all__ = [
    "ENDPOINT_BYTES",
    "ENDPOINT_IRN_AT",
    "ENDPOINT_QP_BYTES",
    "NativeRcEndpoint",
    "TurnTaker",
    "check_native_endpoint",
]

_ANSWERS = 256
_MOST_ANSWERS = _ANSWERS // 2
"""an endpoint with more of them waiting is not handed over"""

# `struct rc_endpoint_qp`, part by part.
_WRITER = struct.Struct("=QII")
_SINCE = struct.Struct("=12IQ")
"""aeth, order, ACKs, taken, flags, made, first, waiting, left, duplicates, gaps, NAKs; bytes placed"""
_ANSWER = struct.Struct("=II")
_SINCE_AT = _WRITER.size
_ANSWERS_AT = _SINCE_AT + _SINCE.size
ENDPOINT_QP_BYTES = _ANSWERS_AT + _ANSWERS * _ANSWER.size

# `struct rc_endpoint`, part by part.
_PARTS = struct.Struct("=QQQii")
_SENDER = struct.Struct("=Q12q13i")
_NEWS = struct.Struct("=3i32x")
_SENDER_AT = _PARTS.size
_NEWS_AT = _SENDER_AT + _SENDER.size
ENDPOINT_IRN_AT = _NEWS_AT + _NEWS.size
"""NULL: its queue pairs use go-back-N; see `irn_native_endpoint`"""
_RING_AT = ENDPOINT_IRN_AT + 8
ENDPOINT_BYTES = _RING_AT + 8
_ENDPOINT_WORDS = (
    "contexts", "qps", "regions", "qp_count", "region_count", "messages", "una", "nxt", "max_nxt", "posted_end",
    "oldest_end", "window", "rto", "deadline", "sent", "others", "resent", "quiet", "since", "ack_every", "sends",
    "sender", "turn", "turn_packets", "turn_limit", "message_count", "is_retrying", "retries", "retry_count",
    "is_patient", "spent", "news", "news_qp", "news_distance", "note", "irn", "carried", "",
)  # fmt: skip
_ENDPOINT_WIDTHS = (8, 8, 8, 4, 4, *(8,) * 13, *(4,) * 16, 32, 8, 8)
_QP_WORDS = (
    "octets", "octets_bytes", "state", "aeth", "order", "acks", "taken", "flags", "made", "first", "waiting", "left",
    "duplicates", "gaps", "naks", "placed", "answers",
)  # fmt: skip
_QP_WIDTHS = (8, *(4,) * 14, 8)
_MESSAGE = struct.Struct("=qqQ")
_RING = struct.Struct("=Q")
_MESSAGES = 64
"""messages that compiled code knows, at most; it comes back for others"""
_NO_SENDER = Standing(0, 0, 0, 0, 0, 0, 0, -1, 0, False, 0, 0, False, 0)
_NEWS_ACK = 1
_GAP, _WENT_BACK, _ACKED = 1, 2, 3
"""`enum rc_endpoint_kind`"""
_IN_GAP = 2


def check_native_endpoint(library: ctypes.CDLL) -> None:
    """Raises InternalError when the structs of `native_endpoint.h` are others in C than here."""
    starts = zip(_ENDPOINT_WORDS, accumulate(_ENDPOINT_WIDTHS, initial=0), strict=True)
    check_layout(library, "rc_endpoint", {name: start for name, start in starts if name}, ENDPOINT_BYTES)
    starts = zip(_QP_WORDS, accumulate(_QP_WIDTHS, initial=0), strict=True)
    check_layout(library, "rc_endpoint_qp", {name: start for name, start in starts if name}, ENDPOINT_QP_BYTES)


class TurnTaker(Protocol):
    """What compiled code takes over of an endpoint in addition to its queue pairs: which one sends next."""

    @property
    def queue_pairs(self) -> Sequence[QueuePair]: ...

    @property
    def turn(self) -> tuple[int, int, int]: ...

    def set_turn(self, turn: int, packets: int) -> None: ...


class NativeRcEndpoint:
    """`address` is that of the `struct rc_endpoint`. Only for an endpoint whose queue pairs are all there, and over
    IPv4."""

    def __init__(self, endpoint: TurnTaker, fast: FastPath) -> None:
        self.held = False
        """the compiled code has it"""
        self._endpoint = endpoint
        self._fast = fast
        self._order = [fast.compiled(qp) for qp in endpoint.queue_pairs]
        self._outstanding = self._full = 0
        """Bitmaps of queue pairs: with packets to send or unacknowledged; with too many answers."""
        self._memory = bytearray(ENDPOINT_BYTES)
        self._qps = bytearray(len(self._order) * ENDPOINT_QP_BYTES)
        self._heads: list[bytearray] = []
        for index, pair in enumerate(self._order):
            octets, state, _ = pair.qp.writer.head(Opcode.ACKNOWLEDGE, Aeth.LAYOUT.size, 0)
            self._heads.append(bytearray(octets))
            _WRITER.pack_into(self._qps, index * ENDPOINT_QP_BYTES, address_of(self._heads[-1]), len(octets), state)
        self.address, self._qps_at = address_of(self._memory), address_of(self._qps)
        self._messages = b""
        self._posted = -1, -1, -1, -1
        """what `_messages` is of: queue pair, end of what is posted, number of messages, the first one"""
        self._sender = -1
        self._ring: HeldRing | None = None
        self._carries = False

    def carry(self, ring: PlainRing) -> None:
        """Let compiled code carry on the ring as well."""
        self._ring = HeldRing(ring, self._fast, self._order)

    def offer(self, others: int | None, *, quiet: bool = False) -> bool:
        """Hand the endpoint over; `others` is the first of its user's own timers. `quiet`: compiled code only notes
        which messages completed by ACKs. False, and nothing is changed, when it is in no state for that."""
        memory, order, fast = self._memory, self._order, self._fast
        if not self._is_plain():
            return False
        sender, ring, given = self._outstanding.bit_length() - 1, self._ring, None
        if ring is not None and sender in (-1, ring.sender) and order[ring.sender].is_open:
            given = ring.offer()
            if given is not None:
                sender = ring.sender
        self._carries = given is not None
        for index, pair in enumerate(order):
            self._pack_pair(pair.responder, index * ENDPOINT_QP_BYTES)
            deadline = pair.sender.deadline
            if index != sender and deadline is not None and (others is None or deadline < others):
                others = deadline
        _PARTS.pack_into(memory, 0, fast.refresh(), self._qps_at, fast.regions_at, len(order), fast.region_count)
        standing, ack_every, sends, messages, last = _NO_SENDER, 0, False, 0, -1
        if sender >= 0:
            pair = order[sender]
            standing, sends = pair.standing(), pair.may_send
            messages = self._pack_messages(sender, pair) if given is None else given[1]
            ack_every = pair.qp.config.ack_request_every
            if quiet and given is None:
                last = self._last_noted(pair)
        at = (address_of(self._messages) if messages else 0) if given is None else given[0]
        _RING.pack_into(memory, _RING_AT, ring.address if ring is not None and self._carries else 0)
        self._sender = sender
        *window, resent, is_retrying, retries, retry_count, is_patient, since = standing
        _SENDER.pack_into(
            memory, _SENDER_AT, at, *window, 0,
            -1 if others is None else others, resent, last, since, ack_every, sends, sender,
            *self._endpoint.turn, messages, is_retrying, retries, retry_count, is_patient, 0,
        )  # fmt: skip
        _NEWS.pack_into(memory, _NEWS_AT, 0, 0, 0)
        self.held = True
        return True

    def _last_noted(self, pair: CompiledPair) -> int:
        """Up to which sequence number an ACK may complete messages that compiled code knows."""
        messages = pair.messages
        if self._posted[3]:  # it does not know the oldest
            return -1
        return pair.end if len(messages) <= _MESSAGES else messages[_MESSAGES - 1].first

    def _pack_messages(self, sender: int, pair: CompiledPair) -> int:
        """How many messages of its queue compiled code gets."""
        messages = pair.messages
        first = pair.sender.place if pair.sender.place >= _MESSAGES else 0
        posted = sender, messages[-1].end if messages else 0, len(messages), first
        if posted != self._posted:
            self._posted = posted
            self._messages = b"".join(
                _MESSAGE.pack(message.first, message.end, self._fast.plan_of(message, pair.qp).address)
                for message in islice(messages, first, first + _MESSAGES)
            )
        return len(self._messages) // _MESSAGE.size

    def _is_plain(self) -> bool:
        """At most one queue pair has something to send, and all answers have room."""
        attention = self._fast.attention
        for index in members(attention.stale):
            bit, pair = 1 << index, self._order[index]
            self._outstanding = self._outstanding & ~bit | (bit if pair.qp.requester.outstanding else 0)
            self._full = self._full & ~bit | (bit if len(pair.responder.answers) > _MOST_ANSWERS else 0)
        attention.stale = 0
        return not self._full and not self._outstanding & (self._outstanding - 1)

    def tell_events(self) -> bool:
        """Report what happened, and leave the endpoint with the compiled code. Always False: it must be taken back."""
        return False

    def tell(self, kind: int, pair: int, a: int, b: int) -> None:
        """Report what compiled code noted at that time."""
        if kind == _GAP:
            self._order[pair].responder.gap_showed(a)
        elif kind == _ACKED:
            self._order[pair].acked(a)
        else:
            assert kind == _WENT_BACK
            self._order[pair].sender.went_back("nak", a & PSN_MASK, a >> 24, None, b)

    def _pack_pair(self, responder: Responder, at: int) -> None:
        answers = responder.answers
        order = 0 if responder.failed else 2 if responder.has_gap else 1
        aeth = ACK_UNLIMITED << 24 | responder.msn
        _SINCE.pack_into(self._qps, at + _SINCE_AT, aeth, order, 0, 0, 0, 0, 0, len(answers), 0, 0, 0, 0, 0)
        at += _ANSWERS_AT
        for psn, syndrome, msn, _, _ in answers:
            _ANSWER.pack_into(self._qps, at, psn, syndrome << 24 | msn)
            at += _ANSWER.size

    def take_back(self, now: int) -> None:
        """Bring the queue pairs to where the compiled code left off. What completes by the last frame does so now."""
        self.held = False
        (
            _, una, nxt, max_nxt, posted_end, _, _, _, deadline, sent, _, resent, _, since, _, sends, _, turn,
            turn_packets, _, _, is_retrying, _, _, _, spent,
        ) = _SENDER.unpack_from(self._memory, _SENDER_AT)  # fmt: skip
        self._endpoint.set_turn(turn, turn_packets)
        if self._carries:
            assert self._ring is not None
            self._ring.take_back(una, posted_end, self._fast.expected(self._ring.receiver), now)
        for index, pair in enumerate(self._order):
            at = index * ENDPOINT_QP_BYTES
            _, order, acks, taken, flags, made, first, waiting, left, duplicates, gaps, naks, placed = (
                _SINCE.unpack_from(self._qps, at + _SINCE_AT)
            )
            if acks or naks or made or left or taken or duplicates or gaps or index == self._sender:
                pair.qp.touch()
            pair.heard(acks, naks)
            if index == self._sender and sends:
                due = None if deadline < 0 else deadline
                pair.went_on(sent, resent, Reached(una, nxt, max_nxt, since, spent, is_retrying != 0, due))
            if made or gaps or left:
                places = (at + _ANSWERS_AT + (first + i) % _ANSWERS * _ANSWER.size for i in range(waiting))
                pair.responder.set_answers(_ANSWER.unpack_from(self._qps, place) for place in places)
            closes = self._carries and self._ring is not None and index == self._ring.receiver
            if taken or duplicates or gaps or closes:
                self._fast.carry_on(index, taken, placed, flags, made, duplicates, gaps, order == _IN_GAP)
        news, index, distance = _NEWS.unpack_from(self._memory, _NEWS_AT)
        if news == _NEWS_ACK:
            self._order[index].qp.touch()
            self._order[index].on_acks(distance, 1, now)
