"""An endpoint with IRN that compiled code keeps for a while: as `held`, by `irn.c`."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from workloads.native.address import address_of
from workloads.rc.irn_fast import IrnFastPath
from workloads.rc.native_endpoint import ENDPOINT_BYTES, ENDPOINT_IRN_AT, TurnTaker

if TYPE_CHECKING:
    from workloads.collectives.plain_ring import PlainRing

__all__ = ["NativeIrnEndpoint"]

_POINTER = struct.Struct("=Q")


class NativeIrnEndpoint:
    """`address` is that of the `struct rc_endpoint`. Only for an endpoint whose queue pairs are all there, and over
    IPv4."""

    def __init__(self, endpoint: TurnTaker, fast: IrnFastPath) -> None:
        self.held = False
        """the compiled code has it"""
        self._endpoint, self._fast, self._pairs = endpoint, fast, fast.pairs
        self._memory = bytearray(ENDPOINT_BYTES)
        self.address = address_of(self._memory)
        _POINTER.pack_into(self._memory, ENDPOINT_IRN_AT, self._pairs.address)

    def carry(self, ring: PlainRing) -> None:
        """Rings stay in Python."""

    def offer(self, others: int | None, *, quiet: bool = False) -> bool:
        """Hand the endpoint over; `others` is the first of its user's own timers. IRN ignores `quiet`. False, and
        nothing is changed, when it is in no state for that."""
        self.held = self._pairs.give(self._fast.regions, self._endpoint.turn, others)
        return self.held

    def tell_events(self) -> bool:
        """Report what happened, if that is events alone. The compiled code keeps the endpoint. False: messages
        completed, and the caller must take the endpoint back to see them."""
        if self._pairs.has_completions:
            return False
        self._pairs.drain()
        return True

    def tell(self, kind: int, pair: int, a: int, b: int) -> None:
        """Report an entry of a log that other code kept."""
        self._pairs.tell(kind, pair, a, b)

    def take_back(self, now: int) -> None:
        """Bring the queue pairs to where the compiled code left off."""
        self.held = False
        self._endpoint.set_turn(*self._pairs.take())
