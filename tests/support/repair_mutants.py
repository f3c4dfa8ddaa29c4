"""Repair switches, newcomers and donors that are wrong in one way each, for the hunter."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from switch_nodes.repair import RepairProgram
from switch_nodes.repair.pool import RepairPool
from switch_nodes.repair.service import RepairArrival, RepairService
from switch_nodes.repair.tables import RepairSlotEvent, RepairSlotState
from testbed.hunt.judge import Machines
from testbed.worlds.simulated import make_worker
from workloads.automaton import number_of
from workloads.config import HostConfig
from workloads.datagrams.slot_window import SlotWindow
from workloads.kernels import NEVER
from workloads.repair.config import RepairConfig
from workloads.repair.newcomer import Newcomer
from workloads.wire.aggregation import DatagramKind

__all__ = ["REPAIR_PLANTED"]


_NEW, _COMPLETING, _REPEAT, _REPEAT_FIRST = (
    number_of(event)
    for event in (
        RepairSlotEvent.NEW,
        RepairSlotEvent.COMPLETING,
        RepairSlotEvent.REPEAT,
        RepairSlotEvent.REPEAT_FIRST,
    )
)
_OVERRUN, _STALE, _QUESTION, _QUESTION_NEWER, _ACK, _ACK_OTHER = (
    number_of(event)
    for event in (
        RepairSlotEvent.OVERRUN,
        RepairSlotEvent.STALE,
        RepairSlotEvent.QUESTION,
        RepairSlotEvent.QUESTION_NEWER,
        RepairSlotEvent.ACK,
        RepairSlotEvent.ACK_OTHER,
    )
)
_FREE, _FILLING, _SENT, _DONE = map(number_of, RepairSlotState)


def _pool(c: RepairArrival) -> RepairPool:
    assert c.pool is not None
    return c.pool


class AddsTwice(RepairService):
    """A copy of a contribution is added once more, and is not there any more."""

    def is_inside(self, c: RepairArrival) -> bool:
        return False


class CompleteByCount(RepairService):
    """So many packets as there are donors make a sum, whoever sent them."""

    def __init__(self, *told: Any) -> None:
        super().__init__(*told)
        self._came: dict[tuple[int, int], int] = {}

    def slot_event(self, c: RepairArrival) -> int:
        event, pool = super().slot_event(c), _pool(c)
        key = pool.job, c.block
        if event not in (_NEW, _COMPLETING, _REPEAT, _REPEAT_FIRST):
            return event
        if pool.state[c.cell] in (_SENT, _DONE) and pool.block[c.cell] == c.block:
            return event
        self._came[key] = self._came.get(key, 0) + 1
        return _COMPLETING if self._came[key] >= len(pool.tree.children) else _NEW


class NeverMultiplies(RepairService):
    """As if every donor had multiplied already."""

    def coefficient(self, c: RepairArrival) -> int:
        return 1


class MultipliesSums(RepairService):
    """A sum leaves with the coefficient of the packet that completed it."""

    def __init__(self, *told: Any) -> None:
        super().__init__(*told)
        self._last = 0, 0

    def send_up(self, c: RepairArrival, kind: int, count: int, op: int, coefficient: int) -> None:
        super().send_up(c, kind, count, *self._last)

    def store(self, c: RepairArrival) -> None:
        self._last = c.op, c.exponent0
        super().store(c)


class AddsToTheOldSum(RepairService):
    """The first packet of a block does not overwrite what its slot held."""

    def store(self, c: RepairArrival) -> None:
        pool = _pool(c)
        values, at = np.asarray(pool.values), pool.value_at(c.cell)
        before = values[at : at + 4 * pool.elements].copy()
        first = self.is_first(c) and pool.state[c.cell] != _FREE
        super().store(c)
        if first:
            length = 4 * pool.length[c.cell]
            values[at : at + length] ^= before[:length]


class AnyBlockOfTheSlot(RepairService):
    """What is late or early counts as the slot's own block."""

    def slot_event(self, c: RepairArrival) -> int:
        event, pool = super().slot_event(c), _pool(c)
        if event not in (_STALE, _OVERRUN) or c.kind != DatagramKind.DATA:
            return event
        if pool.state[c.cell] != _FILLING or not c.ranks or pool.inside[c.cell] & c.ranks:
            return event
        return _COMPLETING if pool.inside[c.cell] | c.ranks == pool.everyone else _NEW

    def is_first(self, c: RepairArrival) -> bool:
        return super().is_first(c) and _pool(c).state[c.cell] != _FILLING


class AnyAcknowledgement(RepairService):
    """One of another block counts as one of the slot's."""

    def slot_event(self, c: RepairArrival) -> int:
        event = super().slot_event(c)
        return _ACK if event == _ACK_OTHER else event


class AcknowledgesForTheNewcomer(RepairService):
    """Its donors are told that the newcomer has what has only left for it."""

    def store_and_send(self, c: RepairArrival) -> None:
        super().store_and_send(c)
        self.spread(c)


class AnswersNewerQuestions(RepairService):
    """A question about a block that it has not seen is answered as one about the slot's."""

    def slot_event(self, c: RepairArrival) -> int:
        event = super().slot_event(c)
        return _QUESTION if event == _QUESTION_NEWER and _pool(c).block[c.cell] >= 0 else event


class SendsOnce(RepairService):
    """A sum that is lost on its way is lost for good."""

    def send_again(self, c: RepairArrival) -> None:
        pass


class AnswersNothing(RepairService):
    """An acknowledgement that a donor lost is lost for good."""

    def answer(self, c: RepairArrival) -> None:
        pass


class WholeSlots(RepairService):
    """Every sum is sent as long as the slot."""

    def send_sum(self, c: RepairArrival) -> None:
        _pool(c).length[c.cell] = _pool(c).elements
        super().send_sum(c)


class RepeatsFromAnyPort(RepairService):
    """Counts a repetition's ranks as having entered, though it adds nothing."""

    def send_again(self, c: RepairArrival) -> None:
        pool = _pool(c)
        for rank in range(pool.donors):
            pool.entered[c.cell * pool.size + rank] += c.ranks >> rank & 1
        super().send_again(c)


def _switch(service: type[RepairService]) -> Machines:
    return Machines(create=type(service.__name__, (RepairProgram,), {"service_class": service}))


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
    **{service.__name__: _switch(service) for service in _SWITCHES},
    **{name: _newcomer(kind) for name, kind in _NEWCOMERS.items()},
    **{change.__name__: _donors(change) for change in _DONORS},
}
