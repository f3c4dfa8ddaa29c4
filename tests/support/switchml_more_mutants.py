"""Programs and workers of SwitchML that are wrong in one way each, for the hunter."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from switch_nodes.switchml.program import SwitchMlProgram
from switch_nodes.switchml.service import Contribution, PoolService
from tests.support.switchml_mutants import COMPLETING, FILLING, NEW, REPEAT, other_slot, pool_of
from workloads.datagrams.slot_window import SlotWindow
from workloads.kernels import NEVER
from workloads.switchml import SwitchMlWorker

__all__ = ["MORE_SWITCHML", "MORE_SWITCHML_WORKERS"]


class _NewestForgotten(PoolService):
    def is_older(self, block: int, newest: int) -> bool:
        return newest >= 0 and newest - block == 1


class NewestForgotten(SwitchMlProgram):
    """An old copy is told by the version that its worker used last only."""

    service_class = _NewestForgotten


class _OlderOrEqual(PoolService):
    def is_older(self, block: int, newest: int) -> bool:
        return super().is_older(block, newest) or block == newest


class OlderOrEqual(SwitchMlProgram):
    """A repetition is taken for an old copy."""

    service_class = _OlderOrEqual


class _MovesAllOn(PoolService):
    def move_on(self, c: Contribution) -> None:
        pool, slot = pool_of(c), other_slot(c)
        other = pool.seen[slot]
        super().move_on(c)
        if other >> c.rank & 1 and pool.seen[slot]:
            pool.occupy(-1, self._now)
            pool.seen[slot] = 0


class MovesAllOn(SwitchMlProgram):
    """The first worker that goes on frees the other version for all."""

    service_class = _MovesAllOn


class _ReplaysTheOtherVersion(PoolService):
    def replay(self, c: Contribution) -> None:
        pool, own, other = pool_of(c), c.place, other_slot(c)
        if pool.length[own] == pool.length[other]:
            c.place = other
        super().replay(c)
        c.place = own


class ReplaysTheOtherVersion(SwitchMlProgram):
    service_class = _ReplaysTheOtherVersion


class _LengthOfTheFirst(PoolService):
    def store(self, c: Contribution) -> None:
        before = pool_of(c).length[c.place]
        super().store(c)
        if before:
            pool_of(c).length[c.place] = before


class LengthOfTheFirst(SwitchMlProgram):
    """A slot keeps the length of the first block that it served."""

    service_class = _LengthOfTheFirst


class _ExponentsGrow(PoolService):
    def store(self, c: Contribution) -> None:
        pool, slot = pool_of(c), c.place
        before = pool.exponent0[slot], pool.exponent1[slot]
        super().store(c)
        pool.exponent0[slot] = max(before[0], pool.exponent0[slot])
        pool.exponent1[slot] = max(before[1], pool.exponent1[slot])


class ExponentsGrow(SwitchMlProgram):
    """A slot keeps the largest exponents that it ever saw."""

    service_class = _ExponentsGrow


class _CompletesByCount(PoolService):
    def slot_event(self, c: Contribution) -> int:
        event, pool = super().slot_event(c), pool_of(c)
        inside = pool.inside[c.place] if pool.seen[c.place] else 0
        if event == REPEAT and pool.state(c.place) == FILLING:
            return COMPLETING if inside + 1 == pool.size else NEW
        return event


class CompletesByCount(SwitchMlProgram):
    """A version is complete when as many came as there are workers, whoever they were."""

    service_class = _CompletesByCount


class _SaturatingPool(PoolService):
    def store(self, c: Contribution) -> None:
        pool, is_first = pool_of(c), self.is_first(c)
        at = pool.value_at(c.place)
        values = np.asarray(pool.values)[at : at + c.count]
        before = values.astype(np.int64)
        super().store(c)
        if not is_first:
            exact = before + np.frombuffer(c.frame, ">i4", c.count, c.at)
            values[:] = np.clip(exact, -(1 << 31), (1 << 31) - 1)


class SaturatingPool(SwitchMlProgram):
    """Elements stop at the ends of int32."""

    service_class = _SaturatingPool


MORE_SWITCHML: tuple[type[SwitchMlProgram], ...] = (
    NewestForgotten, OlderOrEqual, MovesAllOn, ReplaysTheOtherVersion, LengthOfTheFirst, ExponentsGrow,
    CompletesByCount,
    SaturatingPool,
)  # fmt: skip


class _OneLarger(SlotWindow):
    def version_of(self, packet: int) -> int:
        return packet // (self.window + 1) % 2


class _ByPacket(SlotWindow):
    def version_of(self, packet: int) -> int:
        return packet % 2


class _NeverAgain(SlotWindow):
    def expire(self, now: int) -> int:
        return 0

    def due(self) -> int:
        return NEVER


def _window(worker: SwitchMlWorker, kind: type[SlotWindow]) -> None:
    own: Any = worker
    own._window = kind(own._config.window, own._config.rto_ns)


def window_one_larger(worker: SwitchMlWorker) -> None:
    """The packet that follows a result is the one behind the next."""
    _window(worker, _OneLarger)


def version_by_packet(worker: SwitchMlWorker) -> None:
    """Versions take turns from packet to packet."""
    _window(worker, _ByPacket)


def never_sends_again(worker: SwitchMlWorker) -> None:
    _window(worker, _NeverAgain)


MORE_SWITCHML_WORKERS: tuple[Callable[[SwitchMlWorker], None], ...] = (
    window_one_larger, version_by_packet, never_sends_again,
)  # fmt: skip
