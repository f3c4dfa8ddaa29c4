"""More programs, servers and workers of ATP and ESA that are wrong in one way each, for the hunter."""

from __future__ import annotations

from typing import Any

import numpy as np

from switch_nodes.aggregators.arrival import AggregatorArrival
from switch_nodes.aggregators.core import AggregatorProgram
from switch_nodes.aggregators.judge import SlotJudge
from switch_nodes.aggregators.memory import Aggregator
from switch_nodes.aggregators.tables import AggregatorEvent
from tests.support.aggregator_mutants import Mutant
from workloads.atp import AtpConfig, AtpWorker
from workloads.atp.window import SendWindow
from workloads.server.block import Block
from workloads.server.job import JobServer
from workloads.server.tables import BlockEvent
from workloads.wire.aggregation import AGGREGATION_OVERHEAD_BYTES, DatagramFlag

__all__ = [
    "MORE_AGGREGATORS",
    "MORE_AGGREGATOR_WORKERS",
    "MORE_NOT_HUNTED",
    "MORE_SERVERS",
]  # fmt: skip


# Aggregators.


class EarlierOverflowForgotten(AggregatorProgram):
    """Only the last addition says whether a sum saturated."""

    def _enter(self, slot: Aggregator, a: AggregatorArrival) -> None:
        slot.overflow = False
        super()._enter(slot, a)


class PriorityInverted(SlotJudge):
    """The less urgent packet takes the slot."""

    def is_preferred(self, slot: Aggregator, a: AggregatorArrival) -> bool:
        return a.found.header.priority < slot.priority


class PriorityOfTheFirst(AggregatorProgram):
    """A slot keeps the priority of who opened it."""

    def _enter(self, slot: Aggregator, a: AggregatorArrival) -> None:
        before, opened = slot.priority, bool(slot.bitmap)
        super()._enter(slot, a)
        if opened:
            slot.priority = before


class AgesTheNewcomer(AggregatorProgram):
    """A collision makes the occupant more urgent, not less."""

    def collide(self, a: AggregatorArrival) -> None:
        slot = self._occupant(a.found.header.slot)
        before = slot.priority
        super().collide(a)
        slot.priority = min(255, before + (before - slot.priority))


class CopiesLeaveThePriority(AggregatorProgram):
    """A copy with a higher priority does not make its slot more urgent."""

    def _note(self, a: AggregatorArrival) -> Aggregator:
        slot = self._occupant(a.found.header.slot)
        before = slot.priority
        super()._note(a)
        slot.priority = before
        return slot


class ReclaimsOneTooSoon(SlotJudge):
    """A block that is a window less one later."""

    def is_successor(self, slot: Aggregator, a: AggregatorArrival) -> bool:
        header = a.found.header
        if header.tensor != slot.tensor:
            return super().is_successor(slot, a)
        return slot.served.config.window - 1 <= (header.sequence - slot.sequence) & 0xFFFFFFFF < 1 << 31


class ReclaimsOneTooLate(SlotJudge):
    """A block that is a window later does not count as later."""

    def is_successor(self, slot: Aggregator, a: AggregatorArrival) -> bool:
        header = a.found.header
        if header.tensor != slot.tensor:
            return super().is_successor(slot, a)
        return slot.served.config.window < (header.sequence - slot.sequence) & 0xFFFFFFFF < 1 << 31


class ReclaimsInTheTensorOnly(SlotJudge):
    def is_successor(self, slot: Aggregator, a: AggregatorArrival) -> bool:
        return a.found.header.tensor == slot.tensor and super().is_successor(slot, a)


class FlushesWithoutItsAsker(AggregatorProgram):
    """The part of the packet that asked is thrown away."""

    def flush(self, a: AggregatorArrival) -> None:
        index, bitmap = a.found.header.slot, a.found.header.bitmap0
        slot = self._occupant(index)
        if slot.bitmap & ~bitmap == 0 and slot.bitmap != bitmap:
            self.pass_on(a)
        else:
            self.count("flushed")
            self._send_slot(a, slot, "flushed")
        self.memory.free(index, self._now)


class FlushesTheAskerAlone(AggregatorProgram):
    """What is in the slot is thrown away."""

    def flush(self, a: AggregatorArrival) -> None:
        self.pass_on(a)
        self.memory.free(a.found.header.slot, self._now)


class EvictsTheNewcomersPart(AggregatorProgram):
    """The evicted sum says that it holds the newcomer's ranks."""

    def evict(self, a: AggregatorArrival) -> None:
        slot = self._occupant(a.found.header.slot)
        slot.bitmap |= a.found.header.bitmap0
        super().evict(a)


class CompletesOneShort(SlotJudge):
    """All but one are enough."""

    def completes(self, slot: Aggregator, a: AggregatorArrival) -> bool:
        inside = slot.bitmap | a.found.header.bitmap0
        return (inside ^ slot.served.target).bit_count() <= 1 and inside.bit_count() > 1


class RepeatsAreSummed(SlotJudge):
    """A worker that is inside counts again unless the slot is complete."""

    def of_contribution(self, a: AggregatorArrival) -> AggregatorEvent:
        event = super().of_contribution(a)
        slot = self.memory.slots[a.found.header.slot]
        full = slot is not None and slot.bitmap == slot.served.target
        return AggregatorEvent.NEW if event is AggregatorEvent.REPEAT and not full else event


class SaturatesSymmetrically(AggregatorProgram):
    """The least value is -(2^31 - 1), and nobody is told."""

    def _enter(self, slot: Aggregator, a: AggregatorArrival) -> None:
        super()._enter(slot, a)
        if a.found.header.op:
            slot.values = np.maximum(slot.values, -(1 << 31) + 1).astype(np.int32)


class TensorsAreAlike(AggregatorProgram):
    """The owner of a slot is told by its job alone."""

    judge_class = type(
        "OneJobOneSlot",
        (SlotJudge,),
        {
            "is_owner": lambda self, a: (
                (slot := self.memory.slots[a.found.header.slot]) is not None and slot.served is a.served
            )
        },
    )


class FirstExponents(AggregatorProgram):
    """Of the packet that opened the slot, not the largest."""

    def _enter(self, slot: Aggregator, a: AggregatorArrival) -> None:
        before, opened = (slot.exponent0, slot.exponent1), bool(slot.bitmap)
        super()._enter(slot, a)
        if opened:
            slot.exponent0, slot.exponent1 = before


class RemindedAndCleared(AggregatorProgram):
    """A reminder empties the slot and sends nothing."""

    def send_reminded(self, a: AggregatorArrival) -> None:
        self.memory.free(a.found.header.slot, self._now)


MORE_AGGREGATORS: dict[str, tuple[Mutant, ...]] = {
    "atp": (
        EarlierOverflowForgotten, ReclaimsOneTooSoon, ReclaimsOneTooLate, ReclaimsInTheTensorOnly,
        FlushesWithoutItsAsker, FlushesTheAskerAlone,
        CompletesOneShort, RepeatsAreSummed, SaturatesSymmetrically, TensorsAreAlike, FirstExponents,
    ),
    "esa": (
        EarlierOverflowForgotten, PriorityInverted, PriorityOfTheFirst, AgesTheNewcomer,
        ReclaimsOneTooSoon, ReclaimsOneTooLate, ReclaimsInTheTensorOnly, FlushesWithoutItsAsker, FlushesTheAskerAlone,
        EvictsTheNewcomersPart, RemindedAndCleared,
        CompletesOneShort, RepeatsAreSummed, TensorsAreAlike, FirstExponents,
    ),
}  # fmt: skip
"""by protocol"""


# Servers.


class NewerFromTheCache(JobServer):
    """Whoever asks for a block gets what lies in its place, be it a newer one."""

    def _find(self, number: int) -> Block:
        found = self._blocks[number % len(self._blocks)]
        return found if found is not None and found.number > number >= 0 else super()._find(number)


class OlderFromTheCache(JobServer):
    """A block that has not begun is the one that lies in its place."""

    def _find(self, number: int) -> Block:
        found = self._blocks[number % len(self._blocks)]
        return found if found is not None and found.number < number else super()._find(number)


class FirstOverflowForgotten(JobServer):
    """A part that saturated on its way, or here, is forgotten with the next part."""

    def add(self, block: Block, a: Any, now: int) -> None:
        block.overflow = False
        super().add(block, a, now)

    def add_and_send(self, block: Block, a: Any, now: int) -> None:
        block.overflow = False
        super().add_and_send(block, a, now)


class TakesAnEarlierTensor(JobServer):
    """Overlaps are told by whole bitmaps: a part with some new workers is added."""

    def _classify(self, block: Block, number: int, a: Any) -> BlockEvent:
        event = super()._classify(block, number, a)
        if event is BlockEvent.OVERLAP and a.bitmap != block.bitmap:
            whole = a.bitmap | block.bitmap == self._everybody
            return BlockEvent.COMPLETING if whole else BlockEvent.NEW
        return event


class CompletesOneShortAtTheServer(JobServer):
    def _classify(self, block: Block, number: int, a: Any) -> BlockEvent:
        event = super()._classify(block, number, a)
        inside = a.bitmap | block.bitmap
        short = (inside ^ self._everybody).bit_count() == 1 and len(self._job.members) > 2
        return BlockEvent.COMPLETING if event is BlockEvent.NEW and block.bitmap and short else event


class RepliesWithTheNewest(JobServer):
    """A repair has the payload of the last result."""

    def _send(self, rank: int, block: Block) -> None:
        if rank >= 0 and (last := getattr(self, "last", None)) is not None:
            kept = block.frame
            block.frame = (
                kept[:AGGREGATION_OVERHEAD_BYTES] + last[AGGREGATION_OVERHEAD_BYTES:]
                if len(last) == len(kept)
                else kept
            )
            super()._send(rank, block)
            block.frame = kept
        else:
            self.last = block.frame
            super()._send(rank, block)


MORE_SERVERS: dict[str, type[JobServer]] = {
    "newer block from the cache": NewerFromTheCache,
    "older block from the cache": OlderFromTheCache,
    "earlier overflow forgotten": FirstOverflowForgotten,
    "overlap by equality": TakesAnEarlierTensor,
    "complete one short": CompletesOneShortAtTheServer,
    "repair of the newest": RepliesWithTheNewest,
}


# Workers of ATP and ESA.


class ExponentsUnchecked(AtpWorker):
    """A result of another tensor with the right size is taken."""

    def take_result(self, found: Any, packet: int, now: int) -> None:
        found.tensor = self._iteration
        window = self._window
        if not window.is_outstanding(packet) and window.is_outstanding(packet + window.window):
            packet += window.window
        super().take_result(found, packet, now)


class OverflowUnheard(AtpWorker):
    """A result that says that it saturated is a result."""

    def take_result(self, found: Any, packet: int, now: int) -> None:
        found.flags &= ~DatagramFlag.OVERFLOW
        super().take_result(found, packet, now)


class _OneMore(SendWindow):
    def next_leaving(self) -> int:
        packet = super().next_leaving()
        if packet < 0 and self.next == self.base + self.window and self.next < self.end and self.window > 1:
            return self.next
        return packet


class OneMoreThanTheWindow(AtpWorker):
    """A packet leaves before the result of the one a window before is there."""

    def make_window(self, config: AtpConfig) -> SendWindow:
        seed = config.collective.job << 32 | config.collective.rank
        return _OneMore(config.window, config.rto_ns, aimd=config.aimd, seed=seed, ways=config.ways)


MORE_AGGREGATOR_WORKERS: tuple[type[AtpWorker], ...] = (ExponentsUnchecked, OverflowUnheard, OneMoreThanTheWindow)


MORE_NOT_HUNTED: dict[Mutant, str] = {
    CopiesLeaveThePriority: "equivalent: a worker gives all copies of a packet one priority (`Pressure` keeps it by "
    "iteration)",
}
