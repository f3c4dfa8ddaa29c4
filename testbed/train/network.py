"""What carries the all-reduces of a training, and how one is cut into the pieces that a network sums at once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from workloads.config import MeshTask

__all__ = ["IDLE_TURN_S", "Gradient", "SumArrived", "Tasks", "TrainingNetwork", "cut"]

IDLE_TURN_S = 60.0
Gradient = NDArray[np.float32]
"""one rank's, shape (elements,), in memory that it shares with the rank"""


@dataclass(frozen=True, slots=True)
class Tasks:
    """An operation over the mesh."""

    what: str
    """collective of torch"""
    of: tuple[MeshTask, ...]
    """tasks of all ranks of the training, by rank"""


@dataclass(frozen=True, slots=True)
class SumArrived:
    """All ranks have the sum of an all-reduce."""

    number: int
    network_ns: int
    """since it was posted"""


class TrainingNetwork(Protocol):
    """Sums in the order in which it is given. Lives from the first all-reduce to the end of the training."""

    @property
    def problem(self) -> str | None:
        """Why it sums nothing any more."""
        ...

    @property
    def iterations(self) -> int:
        """Pieces that it was given so far."""
        ...

    @property
    def turn_s(self) -> float:
        """In how many seconds `work` wants to be called at the latest."""
        ...

    def carry(
        self, number: int, gradients: Sequence[Gradient], totals: Sequence[Gradient], tasks: Tasks | None = None
    ) -> None:
        """Sum these, by rank, and leave the sums in `totals`. The gradients stay as they are until the sums have
        arrived. `tasks`: another operation over the mesh instead; ranks outside its group have no elements."""
        ...

    def give_up(self, reason: str) -> None:
        """Ranks that wait for a sum wait no longer: from now on this is the problem of the network."""
        ...

    def work(self) -> Iterable[SumArrived]:
        """Do what is to be done now; what has arrived since last asked."""
        ...


def cut(gradients: Sequence[Gradient], elements: int) -> Iterator[list[Gradient]]:
    """Pieces of at most `elements`, each by rank."""
    for start in range(0, len(gradients[0]), elements):
        yield [gradient[start : start + elements] for gradient in gradients]
