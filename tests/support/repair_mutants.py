"""Repair switches, newcomers and donors that are wrong in one way each, for the hunter."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from switch_nodes.repair.program import Arrived, RepairProgram
from switch_nodes.repair.tables import RepairSlotEvent, RepairSlotState
from testbed.hunt.judge import Machines
from testbed.worlds.simulated import make_worker
from workloads.config import HostConfig
from workloads.datagrams.slot_window import SlotWindow
from workloads.kernels import NEVER
from workloads.repair.config import RepairConfig
from workloads.repair.newcomer import Newcomer
from workloads.wire.aggregation import AggregationHeader, DatagramKind

__all__ = ["REPAIR_PLANTED"]


class AddsTwice(RepairProgram):
    """A copy of a contribution is added once more, and is not there any more."""

    def is_inside(self, a: Arrived) -> bool:
        return False


class CompleteByCount(RepairProgram):
    """So many packets as there are donors make a sum, whoever sent them."""

    def __init__(self, config: Any) -> None:
        super().__init__(config)
        self._came: dict[tuple[int, int], int] = {}

    def slot_event(self, a: Arrived) -> RepairSlotEvent:
        event, key = super().slot_event(a), (a.pool.job, a.block)
        if event not in (
            RepairSlotEvent.NEW,
            RepairSlotEvent.COMPLETING,
            RepairSlotEvent.REPEAT,
            RepairSlotEvent.REPEAT_FIRST,
        ):
            return event
        if a.pool.state[a.cell] in (RepairSlotState.SENT, RepairSlotState.DONE) and a.pool.block[a.cell] == a.block:
            return event
        self._came[key] = self._came.get(key, 0) + 1
        return RepairSlotEvent.COMPLETING if self._came[key] >= len(a.pool.tree.children) else RepairSlotEvent.NEW


class NeverMultiplies(RepairProgram):
    """As if every donor had multiplied already."""

    def coefficient(self, header: AggregationHeader) -> int:
        return 1


class MultipliesSums(RepairProgram):
    """A sum leaves with the coefficient of the packet that completed it."""

    def _send_up(self, pool: Any, header: AggregationHeader, payload: bytes) -> None:
        last = self._last
        super()._send_up(pool, header._replace(op=last.op, exponent0=last.exponent0), payload)

    def store(self, a: Arrived) -> None:
        self._last = a.datagram.header
        super().store(a)


class AddsToTheOldSum(RepairProgram):
    """The first packet of a block does not overwrite what its slot held."""

    def store(self, a: Arrived) -> None:
        before = a.pool.values[a.cell].copy()
        first = self.is_first(a) and a.pool.state[a.cell] is not RepairSlotState.FREE
        super().store(a)
        if first:
            length = 4 * a.pool.length[a.cell]
            a.pool.values[a.cell, :length] = np.bitwise_xor(a.pool.values[a.cell, :length], before[:length])


class AnyBlockOfTheSlot(RepairProgram):
    """What is late or early counts as the slot's own block."""

    def slot_event(self, a: Arrived) -> RepairSlotEvent:
        event, pool = super().slot_event(a), a.pool
        if event not in (RepairSlotEvent.STALE, RepairSlotEvent.OVERRUN) or a.datagram.header.kind != DatagramKind.DATA:
            return event
        if pool.state[a.cell] is not RepairSlotState.FILLING or a.child is None or pool.inside[a.cell] & a.child.ranks:
            return event
        return (
            RepairSlotEvent.COMPLETING if pool.inside[a.cell] | a.child.ranks == pool.everyone else RepairSlotEvent.NEW
        )

    def is_first(self, a: Arrived) -> bool:
        return super().is_first(a) and a.pool.state[a.cell] is not RepairSlotState.FILLING


class AnyAcknowledgement(RepairProgram):
    """One of another block counts as one of the slot's."""

    def slot_event(self, a: Arrived) -> RepairSlotEvent:
        event = super().slot_event(a)
        return RepairSlotEvent.ACK if event is RepairSlotEvent.ACK_OTHER else event


class AcknowledgesForTheNewcomer(RepairProgram):
    """Its donors are told that the newcomer has what has only left for it."""

    def store_and_send(self, a: Arrived) -> None:
        super().store_and_send(a)
        self.spread(a)


class AnswersNewerQuestions(RepairProgram):
    """A question about a block that it has not seen is answered as one about the slot's."""

    def slot_event(self, a: Arrived) -> RepairSlotEvent:
        event = super().slot_event(a)
        return (
            RepairSlotEvent.QUESTION if event is RepairSlotEvent.QUESTION_NEWER and a.pool.block[a.cell] >= 0 else event
        )


class SendsOnce(RepairProgram):
    """A sum that is lost on its way is lost for good."""

    def send_again(self, a: Arrived) -> None:
        pass


class AnswersNothing(RepairProgram):
    """An acknowledgement that a donor lost is lost for good."""

    def answer(self, a: Arrived) -> None:
        pass


class WholeSlots(RepairProgram):
    """Every sum is sent as long as the slot."""

    def send_sum(self, a: Arrived) -> None:
        a.pool.length[a.cell] = a.pool.config.elements
        super().send_sum(a)


class RepeatsFromAnyPort(RepairProgram):
    """Counts a repetition's ranks as having entered, though it adds nothing."""

    def send_again(self, a: Arrived) -> None:
        for rank in range(a.pool.donors):
            a.pool.entered[a.cell][rank] += a.datagram.header.bitmap0 >> rank & 1
        super().send_again(a)


def _donors(change: Callable[[Any], None]) -> Machines:
    def employ(config: HostConfig, start_ns: int) -> Any:
        machine = make_worker(config, start_ns)
        if isinstance(config, RepairConfig) and not config.is_newcomer:
            change(machine)
        return machine

    return Machines(employ=employ)


def _newcomer(kind: type[Newcomer]) -> Machines:
    def employ(config: HostConfig, start_ns: int) -> Any:
        if isinstance(config, RepairConfig) and config.is_newcomer:
            return kind(config, start_ns=start_ns)
        return make_worker(config, start_ns)

    return Machines(employ=employ)


class AddsWhatIsInside(Newcomer):
    """The bitmap is looked at for blocks of iterations that are over alone."""

    def has(self, packet: int, bitmap: int) -> bool:
        own = packet - self._first_block
        return own < 0 or (own < len(self._inside) and self._inside[own] == self._config.everyone)


class AcknowledgesWhatItDrops(Newcomer):
    """Packets of the next iteration, which has not begun."""

    def take_symbols(self, found: Any, packet: int, now: int) -> None:
        if self._block is None and packet >= self._first_block:
            self.acknowledge(found, found.bitmap)
        else:
            super().take_symbols(found, packet, now)


class AcknowledgesOnce(Newcomer):
    """A lost acknowledgement is lost for good."""

    def acknowledge(self, found: Any, bitmap: int) -> None:
        told: set[tuple[int, int]] = self.__dict__.setdefault("told", set())
        if (found.sequence, bitmap) not in told:
            told.add((found.sequence, bitmap))
            super().acknowledge(found, bitmap)


class BlocksBeginAnew(Newcomer):
    """It counts the blocks of each iteration from the place of the one before."""

    def begin(self, now: int) -> None:
        if self._training.iteration:
            self._first_block -= 1
        super().begin(now)


class _AnyAcknowledgement(SlotWindow):
    def is_outstanding(self, packet: int) -> bool:
        return super().is_outstanding(packet) or self._outstanding[packet % self.window] >= 0

    def settle(self, packet: int, now: int) -> None:
        super().settle(self._outstanding[packet % self.window], now)


class _Once(SlotWindow):
    def expire(self, now: int) -> int:
        return 0

    def due(self) -> int:
        return NEVER


def _window_of(donor: Any, kind: type[SlotWindow]) -> None:
    config = donor._config
    donor._window = kind(config.window, config.rto_ns, config.collective.job << 32 | config.collective.rank)


def takes_any_acknowledgement(donor: Any) -> None:
    """A late one counts for the packet that its index serves now."""
    _window_of(donor, _AnyAcknowledgement)


def sends_once(donor: Any) -> None:
    _window_of(donor, _Once)


def another_coefficient(donor: Any) -> None:
    donor._coefficient ^= 1


_SWITCHES = (
    AddsTwice, CompleteByCount, NeverMultiplies, MultipliesSums, AddsToTheOldSum, AnyBlockOfTheSlot,
    AnyAcknowledgement, AcknowledgesForTheNewcomer, AnswersNewerQuestions, SendsOnce, AnswersNothing, WholeSlots,
    RepeatsFromAnyPort,
)  # fmt: skip
_NEWCOMERS = {
    "adds_twice": AddsWhatIsInside,
    "acknowledges_what_it_drops": AcknowledgesWhatItDrops,
    "acknowledges_once": AcknowledgesOnce,
    "blocks_begin_anew": BlocksBeginAnew,
}
_DONORS = (takes_any_acknowledgement, sends_once, another_coefficient)
REPAIR_PLANTED: Mapping[str, Machines] = {
    **{program.__name__: Machines(create=program) for program in _SWITCHES},
    **{name: _newcomer(kind) for name, kind in _NEWCOMERS.items()},
    **{change.__name__: _donors(change) for change in _DONORS},
}
