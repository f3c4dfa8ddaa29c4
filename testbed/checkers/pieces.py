"""Who judges a training piece by piece, while the ranks' gradients are there: they are kept nowhere."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from testbed.checkers.folds import Array
from testbed.history import Record
from workloads.machine import Event

__all__ = ["PieceJudge"]


class PieceJudge(Protocol):
    """What it finds are events of the history, for a checker to read; each method gives those that are new."""

    def posted(self, iteration: int, gradients: Sequence[Array]) -> Iterable[Event]:
        """The ranks' gradients of a piece, by rank, equally long, at most as long as the plan says; they may change
        when this returns. Raises ValueError for what the protocol cannot sum."""
        ...

    def hear(self, record: Record) -> Iterable[Event]:
        """A node reported something."""
        ...

    def conclude(self) -> Iterable[Event]:
        """Nothing more will be posted or reported."""
        ...
