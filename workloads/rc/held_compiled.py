"""What `irn-held` adds to a queue pair in compiled code: `struct irn_held`, at the end of `struct irn_pair`."""

from __future__ import annotations

import struct

from workloads.native.address import address_of
from workloads.rc.compiled_bitmap import BITMAP_BYTES, give_bitmap, taken_bitmap
from workloads.rc.held_receiver import HeldReceiver
from workloads.rc.held_window import HeldState, HeldWindow
from workloads.rc.outbound import FrameWriter
from workloads.wire import Aeth, Opcode, Sack
from workloads.wire.held_map import HELD_MAP_BYTES

__all__ = ["HELD_BYTES", "HELD_PARTS", "HeldPart"]

_FIXED = struct.Struct("=QqQqq")
"""places of the last copies, how many less one; what answers with a map begin with: address, bytes, CRC"""
_STATE = struct.Struct("=qq")
"""how many copies left; PSN behind the last map"""
_STATE_AT = _FIXED.size
_LOST_AT = _STATE_AT + _STATE.size
HELD_BYTES = _LOST_AT + BITMAP_BYTES
HELD_PARTS = {"places": 0, "octets": 16, "copies": _STATE_AT, "lost": _LOST_AT}
"""where they lie in it"""


class HeldPart:
    """The part of one queue pair, `at` in memory. The places of copies lie in memory that both have, and are never
    copied."""

    def __init__(
        self, window: HeldWindow, receiver: HeldReceiver, writer: FrameWriter, memory: bytearray, at: int
    ) -> None:
        self._window, self._receiver, self._memory, self._at = window, receiver, memory, at
        octets, state, _ = writer.head(Opcode.IRN_ANSWER, Aeth.LAYOUT.size + Sack.LAYOUT.size, HELD_MAP_BYTES)
        self._head, places = octets, window.places
        address, count = places.buffer_info()
        _FIXED.pack_into(memory, at, address, count - 1, address_of(octets), len(octets), state)

    def give(self) -> None:
        copies, lost = self._window.held_state
        _STATE.pack_into(self._memory, self._at + _STATE_AT, copies, self._receiver.told_to)
        give_bitmap(self._memory, self._at + _LOST_AT, lost)

    def take(self) -> None:
        copies, self._receiver.told_to = _STATE.unpack_from(self._memory, self._at + _STATE_AT)
        self._window.held_state = HeldState(copies, taken_bitmap(self._memory, self._at + _LOST_AT))
