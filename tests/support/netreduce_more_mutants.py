"""More NetReduce programs that are wrong in one way each, for the hunter."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from switch_nodes.config import SwitchConfig
from switch_nodes.netreduce.connections import RingConnections
from switch_nodes.netreduce.program import NetReduceProgram, RingContribution
from switch_nodes.netreduce.ring import Ring
from switch_nodes.netreduce.slot_actions import SlotActions
from switch_nodes.netreduce.tables import RingSlotEvent
from tests.support.slot_mutants import program_with

__all__ = ["MORE_MUTANTS", "MORE_NOT_HUNTED"]


class _OwnSums(SlotActions):
    """`summed(rows, spec)` instead of the sum of float32 or int32sat."""

    dtype = "float32"

    def _sum(self, c: RingContribution, slot: int, into: Any) -> None:
        super()._sum(c, slot, into)
        ring, size = c.ring, int(c.ring.length[slot])
        spec = ring.config.arithmetic
        if spec.dtype == self.dtype and spec.op in self.ops and size:
            rows = ring.payload[slot][:, :size].copy().view("<f4" if self.dtype == "float32" else "<i4")
            with np.errstate(all="ignore"):
                self.change(spec.op, rows, into[slot, :size].view(rows.dtype))

    ops: tuple[str, ...] = ("sum",)

    def change(self, op: str, rows: Any, result: Any) -> None:
        raise NotImplementedError


@program_with
class NanNotCanonical(_OwnSums):
    """A NaN of a sum is whatever the processor makes."""

    def change(self, op: str, rows: Any, result: Any) -> None:
        total = rows[0].copy()
        for row in rows[1:]:
            total += row
        result.view("<u4")[:] = total.view("<u4")


@program_with
class NanNotCanonicalInMax(_OwnSums):
    """A NaN of a max is the first rank's that has one."""

    ops = ("max",)

    def change(self, op: str, rows: Any, result: Any) -> None:
        bits = rows.view("<u4")
        for row in reversed(range(len(rows))):
            found = np.isnan(rows[row])
            result.view("<u4")[found] = bits[row][found]


@program_with
class NanLosesInMax(_OwnSums):
    ops = ("max",)

    def change(self, op: str, rows: Any, result: Any) -> None:
        finite = ~np.isnan(rows).all(axis=0)
        top = np.fmax.reduce(rows)
        mixed = np.isnan(rows).any(axis=0) & finite
        result[mixed] = top[mixed]


@program_with
class ZerosAlikeInMax(_OwnSums):
    """-0 where a rank before has it."""

    ops = ("max",)

    def change(self, op: str, rows: Any, result: Any) -> None:
        zeros = (result == 0) & (rows[0] == 0)
        result.view("<u4")[zeros] = rows[0].view("<u4")[zeros]


@program_with
class FlushesSubnormals(_OwnSums):
    def change(self, op: str, rows: Any, result: Any) -> None:
        small = (result != 0) & (np.abs(result) < np.finfo(np.float32).tiny)
        result[small] = 0


@program_with
class LosesNegativeZero(_OwnSums):
    """A sum begins with +0."""

    def change(self, op: str, rows: Any, result: Any) -> None:
        result += np.float32(0)


@program_with
class InfinityIsTheLargest(_OwnSums):
    def change(self, op: str, rows: Any, result: Any) -> None:
        most = np.finfo(np.float32).max
        np.clip(result, -most, most, out=result)


@program_with
class SumsInDouble(_OwnSums):
    """Rounds once."""

    def change(self, op: str, rows: Any, result: Any) -> None:
        plain = ~np.isnan(result)
        result[plain] = rows.astype(np.float64).sum(axis=0).astype(np.float32)[plain]


@program_with
class ClampsAtEachStep(_OwnSums):
    dtype = "int32sat"

    def change(self, op: str, rows: Any, result: Any) -> None:
        total = rows[0].astype(np.int64)
        for row in rows[1:]:
            total = np.clip(total + row, -(1 << 31), (1 << 31) - 1)
        result[:] = total.astype(np.int32)


@program_with
class ClampsSymmetrically(_OwnSums):
    """At -(2^31 - 1)."""

    dtype = "int32sat"

    def change(self, op: str, rows: Any, result: Any) -> None:
        np.maximum(result, -(1 << 31) + 1, out=result)


@program_with
class ReclaimsOneTooEarly(SlotActions):
    """(message, offset) frees the slot of message - N + 1, which somebody may still lack."""

    def reclaim(self, ring: Ring, message: int, offset: int) -> None:
        before = message - (ring.banks - ring.window) + 1
        slot = ring.slot_of(before, offset)
        super().reclaim(ring, message, offset)
        if before >= 0 and before != message and ring.tag[slot] == before:
            self.clear(ring, slot)


@program_with
class ReclaimsOneTooLate(SlotActions):
    def reclaim(self, ring: Ring, message: int, offset: int) -> None:
        if message:
            super().reclaim(ring, message - 1, min(offset, ring.message_packets - 1))


@program_with
class KeepsReleased(SlotActions):
    """A slot that is cleared keeps on which connections its last result left."""

    def clear(self, ring: Ring, slot: int) -> None:
        released = ring.released[slot]
        super().clear(ring, slot)
        ring.released[slot] = released


@program_with
class KeepsTheLength(SlotActions):
    """A slot keeps the length of its first message."""

    def store(self, c: RingContribution, slot: int) -> None:
        before = int(c.ring.length[slot])
        super().store(c, slot)
        if before:
            c.ring.length[slot] = before

    def clear(self, ring: Ring, slot: int) -> None:
        length = ring.length[slot]
        super().clear(ring, slot)
        ring.length[slot] = length


@program_with
class RawForTheOneBefore(SlotActions):
    """A duplicate passes raw although its receiver may lack the result."""

    def replay(self, c: RingContribution, slot: int) -> None:
        if c.message == c.ring.newest_complete:
            self.forward_raw(c, slot)
        else:
            super().replay(c, slot)


@program_with
class ReplaysToTheNext(SlotActions):
    def replay(self, c: RingContribution, slot: int) -> None:
        self._keep_header(c, slot)
        self.send_result(c.ring, (c.rank + 1) % c.ring.size, slot)


class ChangedPayloadTaken(NetReduceProgram):
    """A copy with another payload takes the place of the first."""

    def slot_event(self, c: RingContribution, slot: int) -> RingSlotEvent:
        event = super().slot_event(c, slot)
        if event is RingSlotEvent.REPEAT_CHANGED:
            c.ring.payload[slot, c.rank, : len(c.elements)] = np.frombuffer(c.elements, np.uint8)
            return RingSlotEvent.REPEAT
        return event


class OfMembersInOtherOrder(NetReduceProgram):
    """Results leave by the port of the connection before."""

    def __init__(self, config: SwitchConfig) -> None:
        super().__init__(config)
        for ring in self.rings.values():
            if ring.size > 2:
                ring.egress = ring.egress[-1:] + ring.egress[:-1]


class ShortMessagesFull(NetReduceProgram):
    """The last message of a gradient is complete with the packets of a full one only."""

    def _note_message(self, packet: Any, place: Any) -> None:
        ring = place.edge.ring
        super()._note_message(packet, place)
        if place.packets < ring.message_packets and place.message > 1:
            ring.announced[place.message % ring.banks] = max(place.packets, ring.message_packets - 1)


class _NoOldPlace(RingConnections):
    def put(self, rank: int, message: int, psn: int, packets: int) -> None:
        index = message % self.entries
        self.ring.entry_message[rank, index] = min(self.ring.entry_message[rank, index], message - 1)
        super().put(rank, message, psn, packets)


class OlderMessagesNoted(NetReduceProgram):
    """An old message takes the place of the newer one in the connection table."""

    table_class = _NoOldPlace


class WrapsInsteadOfClamping(NetReduceProgram):
    def __init__(self, config: SwitchConfig) -> None:
        rings = tuple(
            replace(ring, arithmetic=replace(ring.arithmetic, dtype="int32"))
            if ring.arithmetic.dtype == "int32sat"
            else ring
            for ring in config.rings
        )
        super().__init__(replace(config, rings=rings))


MORE_MUTANTS: tuple[type[NetReduceProgram], ...] = (
    NanNotCanonical, NanNotCanonicalInMax, NanLosesInMax, ZerosAlikeInMax, FlushesSubnormals, LosesNegativeZero,
    InfinityIsTheLargest, SumsInDouble, ClampsAtEachStep, ClampsSymmetrically, ReclaimsOneTooEarly, ReclaimsOneTooLate,
    KeepsReleased, KeepsTheLength, RawForTheOneBefore, ReplaysToTheNext, ChangedPayloadTaken,
    OfMembersInOtherOrder, ShortMessagesFull, OlderMessagesNoted, WrapsInsteadOfClamping,
)  # fmt: skip
MORE_NOT_HUNTED: dict[type[NetReduceProgram], str] = {
    OlderMessagesNoted: "equivalent: only a message that its slot serves is noted, and none older than 2N before the "
    "newest is",
}
