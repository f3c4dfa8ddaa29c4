"""A ring all-reduce that compiled code carries on (`ring.c`) while it holds the endpoint: handed over, taken back.

While it is held, the ring and its queue pairs in Python lag behind. Messages come, are added and passed on in C, and
Python reports the events at the times when C noted them.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Sequence
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from workloads.events import MessageAcked, MessagePosted, MessageReceived
from workloads.machine import Event
from workloads.native.address import address_of
from workloads.native.layout import check_structure
from workloads.rc.compiled import CompiledPair
from workloads.rc.fast import FastPath
from workloads.rc.message import OutMessage
from workloads.rc.send_plan import PLAN_BYTES, make_plan
from workloads.transports.messages import SendRequest

if TYPE_CHECKING:
    from workloads.collectives.plain_ring import PlainRing

__all__ = ["HeldRing", "check_ring", "ring_event"]

_RECEIVED, _POSTED, _ACKED = 16, 17, 18
"""`enum ring_note`"""
_LOG = 1280
_ENTRY_BYTES = 32
_MESSAGE = struct.Struct("=qqQ")
_TEMPLATE = struct.Struct("=qQ")
_PLAN_BYTES = PLAN_BYTES + 16
"""of one segment"""
_SHARED = 1 << 14
_NUMBERS = tuple(range(_SHARED))
_LOW = 0xFFFF_FFFF
_POINTER, _I64 = ctypes.c_void_p, ctypes.c_int64


class _Schedule(ctypes.Structure):
    _fields_ = (*((name, _POINTER) for name in ("steps", "places", "firsts")), ("count", _I64))


class _Ring(ctypes.Structure):
    """`struct ring_held`"""

    _fields_ = (
        ("sends", _Schedule),
        ("receives", _Schedule),
        *((name, _POINTER) for name in ("bounds", "gradient", "result", "slots", "plans", "templates")),
        *(
            (name, _I64)
            for name in (
                "template_count", "plan_bytes", "slot_bytes", "slot_count", "peer_va", "size", "window", "is_float",
                "from", "send_base", "receive_base", "posted", "acked", "consumed", "closed", "packets", "idle",
            )
        ),
        ("messages", _POINTER),
        *((name, _I64) for name in ("room", "first")),
        ("log", _POINTER),
        ("logged", _I64),
    )  # fmt: skip
    posted: int
    acked: int
    consumed: int
    closed: int
    packets: int
    first: int
    logged: int


def check_ring(library: ctypes.CDLL) -> None:
    """Raises InternalError when the struct of `ring.h` is another in C than here."""
    check_structure(library, "ring_held", _Ring)


def ring_event(kind: int, message: int, b: int) -> Event | None:
    """What compiled code noted; None: it is no note of a ring. Events share their small numbers: a long run has
    millions of events."""
    if kind < _RECEIVED:
        return None
    message = _NUMBERS[message] if message < _SHARED else message
    if kind == _RECEIVED:
        return MessageReceived(message, b)
    if kind == _ACKED:
        return MessageAcked(message)
    received, acked = b >> 32, b & _LOW
    if received < _SHARED > acked:
        return MessagePosted(message, _NUMBERS[received], _NUMBERS[acked])
    return MessagePosted(message, received, acked)


class HeldRing:
    """`address` is that of the `struct ring_held`. `pairs`: of its endpoint."""

    def __init__(self, ring: PlainRing, fast: FastPath, pairs: Sequence[CompiledPair]) -> None:
        self._ring, self._fast = ring, fast
        numbers = [pair.qp.config.qpn for pair in pairs]
        self.sender, self.receiver = map(numbers.index, ring.queue_pairs)
        self._pair, self._responder = pairs[self.sender], pairs[self.receiver].responder
        window = ring.window
        self._struct = _Ring()
        self.address = ctypes.addressof(self._struct)
        self._messages = np.zeros(2 * window * _MESSAGE.size, np.uint8).data  # pages come when they are used
        self._plans = np.zeros(window * _PLAN_BYTES, np.uint8).data
        self._log = np.zeros(_LOG * _ENTRY_BYTES, np.uint8).data
        self._templates, self._kept = b"", list[object]()
        self._made_for: object = None

    def offer(self) -> tuple[int, int] | None:
        ring, held = self._ring, self._struct
        if not ring.is_plain:
            return None
        messages = self._pair.messages
        if self._made_for is not ring.sends:
            self._make_templates()
        at = self._messages
        for index, message in enumerate(messages):
            plan = self._fast.plan_of(message, self._pair.qp)
            _MESSAGE.pack_into(at, index * _MESSAGE.size, message.first, message.end, plan.address)
        gradient, result, slots = map(address_of, ring.memory)
        for name, schedule in (("sends", ring.sends), ("receives", ring.receives)):
            of = getattr(held, name)
            of.steps, of.places, of.firsts = (array.buffer_info()[0] for array in schedule.arrays)
            of.count = len(schedule)
        values = {
            "bounds": ring.sends.bounds.buffer_info()[0], "gradient": gradient,
            "result": result, "slots": slots, "plans": address_of(self._plans),
            "templates": address_of(self._templates), "template_count": len(self._templates) // _TEMPLATE.size,
            "plan_bytes": _PLAN_BYTES, "slot_bytes": ring.slot_bytes, "slot_count": 2 * ring.window,
            "peer_va": ring.config.peer_base_va, "size": ring.config.size, "window": ring.window,
            "is_float": ring.config.arithmetic.dtype == "float32", "from": self.receiver,
            "closed": 0, "packets": 0, "idle": 0,
            "messages": address_of(at), "room": 2 * ring.window, "first": 0, "log": address_of(self._log), "logged": 0,
        }  # fmt: skip
        for name, value in chain(values.items(), ring.place._asdict().items()):
            setattr(held, name, value)
        return address_of(at), len(messages)

    def take_back(self, una: int, posted_end: int, expected: int, now: int) -> None:
        ring, held = self._ring, self._struct
        before, closed = ring.place, held.closed
        taken = self._responder.taken_receives(closed)
        if closed:
            self._responder.closed_writes(closed, held.packets, expected)
        queue = self._pair.queue
        for _ in range(min(held.acked - before.acked, len(queue.messages))):
            queue.messages.popleft()
        fresh = [ring.request(number) for number in range(max(before.posted, held.acked), held.posted)]
        mtu = self._pair.qp.config.path_mtu
        queue.end = posted_end - sum(OutMessage(request, 0, mtu).end for request in fresh)
        for request in fresh:
            queue.post(request)
        assert queue.end == posted_end
        self._pair.sender.skip_to(una)
        ring.come_to(held.posted, held.acked, held.consumed, taken, now)

    def _make_templates(self) -> None:
        """A plan for each length of a message."""
        ring, writer = self._ring, self._pair.qp.writer
        made = []
        self._kept = []
        for length in ring.sends.lengths:
            request = SendRequest(0, (bytes(length),), 0, 0, ring.config.peer_rkey)
            message = OutMessage(request, 0, self._pair.qp.config.path_mtu)
            plan = make_plan(message, writer)
            self._kept += message, plan
            made.append(_TEMPLATE.pack(length, plan.address))
        self._templates, self._made_for = b"".join(made), ring.sends
