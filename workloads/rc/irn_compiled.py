"""The queue pairs of an endpoint with IRN as `irn.c` sees them: `struct irn_end`, filled from the reference's halves
and read back into them.

While compiled code has them the halves in Python lag behind. Its results are in three places. `take` reads the state
and adds the counters. `drain` turns the log into events and completions, in their order.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Sequence
from itertools import islice

from workloads.native.address import address_of
from workloads.native.layout import check_layout
from workloads.rc.answers import Answer
from workloads.rc.attention import Attention, members
from workloads.rc.compiled_bitmap import BITMAP_BYTES, MOST_BITS, give_bitmap, taken_bitmap
from workloads.rc.held_compiled import HELD_BYTES, HELD_PARTS, HeldPart
from workloads.rc.held_receiver import HeldReceiver
from workloads.rc.held_sender import HeldSender
from workloads.rc.held_window import HeldWindow
from workloads.rc.irn_receiver import IrnReceiver, Kept
from workloads.rc.irn_sender import IrnSender, SenderTimers
from workloads.rc.irn_window import SenderWindow, WindowState
from workloads.rc.queue_pair import QueuePair
from workloads.rc.send_plan import make_irn_plan
from workloads.wire import PSN_MASK, Aeth, Opcode, Sack, psn_add

__all__ = ["END_BYTES", "PAIR_BYTES", "IrnPairs", "can_be_compiled_irn", "check_irn"]

_BITS, _ANSWERS, _MESSAGES, _LOG = MOST_BITS, 256, 64, 64
_MOST_ANSWERS = _ANSWERS // 2
"""a queue pair with more of them waiting is not handed over"""

# `struct irn_pair`, part by part.
_FIXED = struct.Struct("=6qQ5q")
"""source, destination, QPN, path MTU, answer head, its CRC, its address; cap, in order, N, RTO_low, RTO_high"""
_STATE = struct.Struct("=3q7q5q4q2q8q")
"""failed, end of what is posted, messages; window; timers; receiver; answers; counters"""
_MESSAGE, _ANSWER, _KEPT = struct.Struct("=qqQ"), struct.Struct("=IIII16s"), struct.Struct("=IIII")
_FIRST, _KNOWN = struct.Struct("=q"), struct.Struct("=q")
"""first sequence number of the oldest message; how many messages compiled code has"""
_STATE_AT = _FIXED.size
_KNOWN_AT = _STATE_AT + 16
_ARRIVED_AT = _STATE_AT + _STATE.size
_HERE_AT = _ARRIVED_AT + BITMAP_BYTES
_MESSAGES_AT = _HERE_AT + BITMAP_BYTES
_ANSWERS_AT = _MESSAGES_AT + _MESSAGES * _MESSAGE.size
_KEPT_AT = _ANSWERS_AT + _ANSWERS * _ANSWER.size
_HELD_AT = _KEPT_AT + _BITS * _KEPT.size
PAIR_BYTES = _HELD_AT + HELD_BYTES
_STARTS, _ENDS = 1, 2

# `struct irn_end`
_END = struct.Struct("=QQQ7q")
"""pairs, regions, touched; how many pairs and regions; turn, packets of it, their limit; others, news"""
_ENTRY = struct.Struct("=4q")
_NEWS = struct.Struct("=q")
_NEWS_AT = _END.size - _NEWS.size
END_BYTES = _END.size + _LOG * _ENTRY.size
_TURN = struct.Struct("=2q")
_TURN_AT = 40
_SENT_AGAIN, _GAP, _RECEIVED, _ACKNOWLEDGED = range(1, 5)
_COUNTED = (
    "packets_sent", "packets_retransmitted", "packets_received", "duplicates_received", "acks_sent", "acks_received",
    "naks_sent", "naks_received",
)  # fmt: skip
_NO_COUNTS = (0,) * len(_COUNTED)
_NO_REGIONS, _NO_TURN = (0, 0), (0, 0, 0)
_KINDS = (IrnSender, SenderWindow, IrnReceiver), (HeldSender, HeldWindow, HeldReceiver)
_NOWHERE = 0, 0, -1
"""addresses and number of a queue pair whose frames no compiled code knows"""


def check_irn(library: ctypes.CDLL) -> None:
    """Raises InternalError when the structs of `irn.h` are others in C than here."""
    pair = {
        "octets": 48, "cap": 56, "failed": _STATE_AT, "una": _STATE_AT + 24, "deadline": _STATE_AT + 80,
        "expected": _STATE_AT + 120, "first_answer": _STATE_AT + 152, "packets_sent": _STATE_AT + 168,
        "arrived": _ARRIVED_AT, "here": _HERE_AT, "message": _MESSAGES_AT, "answer": _ANSWERS_AT, "kept": _KEPT_AT,
        "held": _HELD_AT,
    }  # fmt: skip
    check_layout(library, "irn_pair", pair, PAIR_BYTES)
    check_layout(library, "irn_held", HELD_PARTS, HELD_BYTES)
    end = {"pairs": 0, "regions": 8, "touched": 16, "turn": _TURN_AT, "others": 64, "news": _NEWS_AT, "log": _END.size}
    check_layout(library, "irn_end", end, END_BYTES)


def can_be_compiled_irn(qp: QueuePair) -> bool:
    """The compiled code knows `irn` and `irn-held` as they are, and no marks, no rates and no trimmed packets. Larger
    windows than its bitmaps keep to the reference."""
    sender = qp.requester.recovery
    return (
        isinstance(sender, IrnSender)
        and (type(sender), type(sender.window), type(qp.responder)) in _KINDS
        and sender.cap <= _BITS
        and not qp.config.trace
        and qp.config.dcqcn is None
        and not qp.config.trimming
    )


class _Pair:
    """One queue pair and its place in memory."""

    def __init__(self, qp: QueuePair, memory: bytearray, at: int) -> None:
        assert isinstance(qp.requester.recovery, IrnSender)
        assert isinstance(qp.responder, IrnReceiver)
        self.qp, self.sender, self.receiver = qp, qp.requester.recovery, qp.responder
        self.counters = qp.counters
        self._memory, self._at = memory, at
        config, envelope, irn = qp.config, qp.config.envelope, qp.config.irn
        octets, state, _ = qp.writer.head(Opcode.IRN_ANSWER, Aeth.LAYOUT.size + Sack.LAYOUT.size, 0)
        self._head = octets
        source, destination, qpn = _NOWHERE
        if len(envelope.src_ip) == 4:
            source, destination = (int.from_bytes(ip, "big") for ip in (envelope.dst_ip, envelope.src_ip))
            qpn = config.qpn
        _FIXED.pack_into(
            memory, at, source, destination, qpn, config.path_mtu, len(octets), state, address_of(octets),
            self.sender.cap, irn.in_order, irn.few_packets, irn.rto_low_ns, irn.rto_high_ns,
        )  # fmt: skip
        self._whole: tuple[object, ...] | None = None
        """what compiled code was given and left as it was; None: it has to be given whatever it is"""
        self._given = b""
        window, receiver, self._held = self.sender.window, self.receiver, None
        if isinstance(window, HeldWindow):
            assert isinstance(receiver, HeldReceiver)
            self._held = HeldPart(window, receiver, qp.writer, memory, at + _HELD_AT)

    def give(self) -> bool:
        """False: it is in no state for that."""
        before, self._whole = self._whole, None
        memory, at, sender, receiver = self._memory, self._at, self.sender, self.receiver
        here, answers, queue = receiver.arrivals.bitmap, receiver.answers, self.qp.requester.queue
        window = sender.window.state
        if len(answers) > _MOST_ANSWERS or here >> _BITS:
            return False
        total = len(queue.messages)
        count = min(total, _MESSAGES)
        if count < len(queue.messages) and window.nxt >= queue.messages[count - 1].end:
            return False  # the next packet is of a message that has no room here
        standing = (
            sender.failed or receiver.failed, queue.end, count, *window[:-1], *sender.timers, *receiver.standing, 0,
            len(answers),
        )  # fmt: skip
        whole = standing, window.arrived, here, total
        if whole == before:
            self._whole = before
            return True
        self._whole = None if answers or self._held is not None else whole
        (known,) = _KNOWN.unpack_from(memory, at + _KNOWN_AT)
        _STATE.pack_into(memory, at + _STATE_AT, *standing, *_NO_COUNTS)
        self._given = bytes(memory[at + _STATE_AT : at + _ARRIVED_AT])
        give_bitmap(memory, at + _ARRIVED_AT, window.arrived)
        give_bitmap(memory, at + _HERE_AT, here)
        if self._held is not None:
            self._held.give()
        self._give_messages(known, count)
        place = at + _ANSWERS_AT
        for psn, syndrome, msn, sack, told in answers:
            assert sack is not None
            _ANSWER.pack_into(memory, place, psn, syndrome << 24 | msn, sack.cumulative, len(told), told)
            place += _ANSWER.size
        for psn, (starts, size, length, imm) in receiver.kept.items():
            flags = _STARTS * starts | (_ENDS if imm is not None else 0)
            _KEPT.pack_into(memory, at + _KEPT_AT + psn % _BITS * _KEPT.size, size, length, imm or 0, flags)
        return True

    def _give_messages(self, known: int, count: int) -> None:
        """Write those behind the first `known`, which compiled code has, up to `count`. They follow one another."""
        messages, place = self.qp.requester.queue.messages, self._at + _MESSAGES_AT
        if known and (not count or _FIRST.unpack_from(self._memory, place)[0] != messages[0].first):
            known = 0
        for message in islice(messages, known, count):
            if message.plan is None:
                message.plan = make_irn_plan(message, self.qp.writer)
            at = place + known * _MESSAGE.size
            _MESSAGE.pack_into(self._memory, at, message.first, message.end, message.plan.address)
            known += 1

    def take(self) -> None:
        memory, at, receiver = self._memory, self._at, self.receiver
        if self._whole is not None and memory[at + _STATE_AT : at + _ARRIVED_AT] == self._given:
            return  # whatever it does moves a timer or counts something
        self._whole = None
        state = _STATE.unpack_from(memory, at + _STATE_AT)
        una, nxt, recovering, recover_to, again, is_due, lost_to = state[3:10]
        deadline, armed_at, is_extended, progress_at, timed_out = state[10:15]
        expected, msn, _, size, first, waiting = state[15:21]
        arrived, here = (taken_bitmap(memory, at + offset) for offset in (_ARRIVED_AT, _HERE_AT))
        self.sender.went_on(
            WindowState(una, nxt, recovering != 0, recover_to, again, is_due != 0, lost_to, arrived),
            SenderTimers(deadline, armed_at, is_extended != 0, progress_at, timed_out != 0),
        )
        if self._held is not None:
            self._held.take()
        counters = self.counters
        for name, count in zip(_COUNTED, state[21:], strict=True):
            if count:
                setattr(counters, name, getattr(counters, name) + count)
        receiver.went_on(expected, msn, size)
        if here or receiver.kept:
            receiver.arrivals.bitmap = here
            receiver.kept.clear()
            self._take_kept(expected, here)
        if waiting or receiver.answers:
            receiver.answers.clear()
            receiver.answers.extend(self._answers(first, waiting))

    def _take_kept(self, expected: int, here: int) -> None:
        while here:
            low = here & -here
            psn = psn_add(expected, low.bit_length() - 1)
            here ^= low
            place = self._at + _KEPT_AT + psn % _BITS * _KEPT.size
            size, length, imm, flags = _KEPT.unpack_from(self._memory, place)
            self.receiver.kept[psn] = Kept(flags & _STARTS != 0, size, length, imm if flags & _ENDS else None)

    def _answers(self, first: int, waiting: int) -> list[Answer]:
        found = []
        for number in range(first, first + waiting):
            place = self._at + _ANSWERS_AT + number % _ANSWERS * _ANSWER.size
            psn, aeth, cumulative, size, told = _ANSWER.unpack_from(self._memory, place)
            found.append(Answer(psn, aeth >> 24, aeth & PSN_MASK, Sack(cumulative, psn), told[:size]))
        return found


class IrnPairs:
    """All queue pairs of an endpoint; each `can_be_compiled_irn`. `address`: of the `struct irn_end`."""

    def __init__(self, qps: Sequence[QueuePair], attention: Attention) -> None:
        self._attention = attention
        self._memory, self._pairs_memory = bytearray(END_BYTES), bytearray(max(1, len(qps)) * PAIR_BYTES)
        self._pairs = [_Pair(qp, self._pairs_memory, i * PAIR_BYTES) for i, qp in enumerate(qps)]
        self._touched = bytearray(8 * (1 + len(qps) // 64))
        """Bitmap of the queue pairs that compiled code did something with, for it to set."""
        self.address, self._pairs_at = address_of(self._memory), address_of(self._pairs_memory)
        self._touched_at = address_of(self._touched)

    def give(self, regions: tuple[int, int], turn: tuple[int, int, int], others: int | None) -> bool:
        """Give the queue pairs to compiled code. `regions`: address and number of `struct rc_region`. False when one is
        in no state for that."""
        for index in members(self._attention.stale):
            if not self._give_pair(index):
                return False
        self._give_end(regions, turn, others)
        return True

    def give_one(self, index: int) -> bool:
        """As `give`, but only that queue pair sends, and does nothing else."""
        if self._attention.stale >> index & 1 and not self._give_pair(index):
            return False
        self._give_end(_NO_REGIONS, _NO_TURN, None)
        return True

    def _give_pair(self, index: int) -> bool:
        is_given = self._pairs[index].give()
        if is_given:
            self._attention.stale &= ~(1 << index)
        return is_given

    def _give_end(self, regions: tuple[int, int], turn: tuple[int, int, int], others: int | None) -> None:
        _END.pack_into(
            self._memory, 0, self._pairs_at, regions[0], self._touched_at, len(self._pairs), regions[1], *turn,
            -1 if others is None else others, 0,
        )  # fmt: skip

    @property
    def has_completions(self) -> bool:
        """The log, which is not empty, has more than events."""
        return any(kind >= _RECEIVED for kind, *_ in self._entries())

    def _entries(self) -> list[tuple[int, int, int, int]]:
        (count,) = _NEWS.unpack_from(self._memory, _NEWS_AT)
        return [_ENTRY.unpack_from(self._memory, _END.size + i * _ENTRY.size) for i in range(count)]

    def drain(self) -> int:
        """Report the entries of the log. Returns their number."""
        entries = self._entries()
        for entry in entries:
            self.tell(*entry)
        if entries:
            _NEWS.pack_into(self._memory, _NEWS_AT, 0)
        return len(entries)

    def tell(self, kind: int, index: int, a: int, b: int) -> None:
        """Report one entry of the log."""
        pair = self._pairs[index]
        if kind == _SENT_AGAIN:
            pair.sender.sent_again(a, "timeout" if b else "nak")
        elif kind == _GAP:
            pair.receiver.gap_showed(a)
        elif kind == _RECEIVED:
            pair.receiver.completed(a, b)
        else:
            pair.sender.acknowledged(a)

    def take_one(self, index: int) -> None:
        """Back after `give_one`."""
        self.drain()
        self._take_touched()

    def _take_touched(self) -> None:
        touched = int.from_bytes(self._touched, "little")
        self._touched[:] = bytes(len(self._touched))
        for index in members(touched):
            self._pairs[index].take()
        self._attention.touch(touched)

    def take(self) -> tuple[int, int]:
        """Take the state back from compiled code. Returns the queue pair that sends at present, and its packets in this
        turn."""
        self.drain()
        self._take_touched()
        turn, packets = _TURN.unpack_from(self._memory, _TURN_AT)
        return turn, packets
