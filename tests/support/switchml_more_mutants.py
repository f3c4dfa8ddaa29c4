"""Programs and workers of SwitchML that are wrong in one way each, for the hunter."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from switch_nodes.switchml.program import Contribution, SwitchMlProgram
from switch_nodes.switchml.tables import SlotEvent as PoolEvent
from switch_nodes.switchml.tables import SlotState as PoolState
from workloads.switchml import SwitchMlWorker

__all__ = ["MORE_SWITCHML", "MORE_SWITCHML_WORKERS"]


class NewestForgotten(SwitchMlProgram):
    """An old copy is told by the version that its worker used last only."""

    def is_older(self, block: int, newest: int) -> bool:
        return newest >= 0 and newest - block == 1


class OlderOrEqual(SwitchMlProgram):
    """A repetition is taken for an old copy."""

    def is_older(self, block: int, newest: int) -> bool:
        return super().is_older(block, newest) or block == newest


class MovesAllOn(SwitchMlProgram):
    """The first worker that goes on frees the other version for all."""

    def move_on(self, c: Contribution) -> None:
        other = c.pool.seen[1 - c.version][c.cell]
        super().move_on(c)
        if other >> c.rank & 1 and c.pool.seen[1 - c.version][c.cell]:
            c.pool.occupy(-1, self._now)
            c.pool.seen[1 - c.version][c.cell] = 0


class ReplaysTheOtherVersion(SwitchMlProgram):
    def replay(self, c: Contribution) -> None:
        other = c._replace(version=1 - c.version)
        same = c.pool.length[0][c.cell] == c.pool.length[1][c.cell]
        super().replay(other if same else c)


class LengthOfTheFirst(SwitchMlProgram):
    """A slot keeps the length of the first block that it served."""

    def store(self, c: Contribution) -> None:
        before = c.pool.length[c.version][c.cell]
        super().store(c)
        if before:
            c.pool.length[c.version][c.cell] = before


class ExponentsGrow(SwitchMlProgram):
    """A slot keeps the largest exponents that it ever saw."""

    def store(self, c: Contribution) -> None:
        before = c.pool.exponents[c.version][c.cell]
        super().store(c)
        now = c.pool.exponents[c.version][c.cell]
        c.pool.exponents[c.version][c.cell] = max(before[0], now[0]), max(before[1], now[1])


class CompletesByCount(SwitchMlProgram):
    """A version is complete when as many came as there are workers, whoever they were."""

    def slot_event(self, c: Contribution) -> PoolEvent:
        event, pool = super().slot_event(c), c.pool
        inside = pool.inside[c.version][c.cell] if pool.seen[c.version][c.cell] else 0
        if event is PoolEvent.REPEAT and pool.state(c.version, c.cell) is PoolState.FILLING:
            return PoolEvent.COMPLETING if inside + 1 == pool.size else PoolEvent.NEW
        return event


class SaturatingPool(SwitchMlProgram):
    """Elements stop at the ends of int32."""

    def store(self, c: Contribution) -> None:
        first = self.is_first(c)
        length = c.datagram.header.nelem
        before = c.pool.values[c.version, c.cell, :length].astype(np.int64)
        super().store(c)
        if not first:
            exact = before + np.frombuffer(c.datagram.payload, ">i4")
            c.pool.values[c.version, c.cell, :length] = np.clip(exact, -(1 << 31), (1 << 31) - 1)


MORE_SWITCHML: tuple[type[SwitchMlProgram], ...] = (
    NewestForgotten, OlderOrEqual, MovesAllOn, ReplaysTheOtherVersion, LengthOfTheFirst, ExponentsGrow,
    CompletesByCount,
    SaturatingPool,
)  # fmt: skip


def window_one_larger(worker: SwitchMlWorker) -> None:
    """The packet that follows a result is the one behind the next."""
    window: Any = worker._window
    place = window.place
    window.place = lambda packet: (place(packet)[0], packet // (window.window + 1) % 2)


def version_by_packet(worker: SwitchMlWorker) -> None:
    """Versions take turns from packet to packet."""
    window: Any = worker._window
    place = window.place
    window.place = lambda packet: (place(packet)[0], packet % 2)


def never_sends_again(worker: SwitchMlWorker) -> None:
    window: Any = worker._window
    window.expire = lambda now: 0
    window.get_timer = lambda: None


MORE_SWITCHML_WORKERS: tuple[Callable[[SwitchMlWorker], None], ...] = (
    window_one_larger, version_by_packet, never_sends_again,
)  # fmt: skip
