"""Sums of a trace that another worker of the rank makes, one after the other.

Rules of this file
- All ranks have the same sums in the same order (`Communication.turn`). The worker takes the next one when the trace
  has begun it. A sum that the trace began earlier than its turn waits.
- When the trace hears of a sum, the trace's vector holds it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from workloads.events import TrainingProgress
from workloads.gradients.base import GradientSource, Vector
from workloads.traces.program import Communication

__all__ = ["HandsOver", "SumsInTurn"]

_ENDLESS = 1 << 40


@runtime_checkable
class HandsOver(Protocol):
    """What runs a trace, and lets another worker make sums."""

    def hand_sums_to(self, sums: SumsInTurn) -> None:
        """Communications with a turn run there. After a sum, somebody calls `handle_timer`."""
        ...


class SumsInTurn:
    """An AwaitedSource, for the worker that sums. `source`: of the trace's vectors."""

    poll_ns = 0

    def __init__(self, communications: Sequence[Communication], source: GradientSource) -> None:
        summed = [number for number, each in enumerate(communications) if each.turn >= 0]
        self._numbers = sorted(summed, key=lambda number: communications[number].turn)
        self._places = {number: place for place, number in enumerate(self._numbers)}
        self.elements = max((communications[number].gives for number in summed), default=1)
        self.dtype = source.dtype
        self._begun: dict[int, tuple[Vector, Vector]] = {}
        """by place in the job: what the rank gives, and where the sum must be"""
        self._taken = 0
        self._is_over = False
        self.over = deque[int]()
        """communications whose sums are there, for the trace to take"""

    @property
    def iterations(self) -> int:
        return self._taken if self._is_over else _ENDLESS

    def number_of(self, iteration: int) -> tuple[int, int]:
        """(iteration of the trace, communication) of a sum."""
        of_trace, place = divmod(iteration, len(self._numbers))
        return of_trace, self._numbers[place]

    def begin(self, iteration: int, number: int, given: Vector, held: Vector) -> None:
        """The trace begins a communication. `iteration`: of the trace."""
        self._begun[iteration * len(self._numbers) + self._places[number]] = given, held

    def end(self) -> None:
        """The trace begins no more."""
        self._is_over = True

    def is_ready(self, iteration: int) -> bool:
        return iteration in self._begun

    def gradient(self, iteration: int) -> Vector:
        return self._begun[iteration][0]

    def apply(self, iteration: int, total: Vector) -> TrainingProgress | None:
        _, held = self._begun.pop(iteration)
        held[: len(total)] = total
        self._taken = iteration + 1
        self.over.append(self.number_of(iteration)[1])
        return None

    def reset(self) -> None:
        self._begun.clear()
        self.over.clear()
        self._taken = 0
