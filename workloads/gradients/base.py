"""What a worker asks of the place its gradients come from."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from workloads.config import MeshTask
from workloads.events import TrainingProgress

__all__ = ["AwaitedSource", "DrawnSource", "GradientSource", "TaskedSource", "Vector", "awaited", "work_buffers"]

Vector = NDArray[Any]
"""shape (elements,), float32 or int32, little-endian, C-contiguous"""


class GradientSource(Protocol):
    """One rank's gradients. Deterministic in its configuration, the rank, and the totals applied so far."""

    elements: int
    dtype: np.dtype[Any]

    @property
    def iterations(self) -> int: ...

    def gradient(self, iteration: int) -> Vector:
        """This rank's contribution, shape (elements,); of an `AwaitedSource` perhaps shorter. The array stays the
        source's own: it is valid, and must not be written to, until the next call of `gradient`, `apply` or `reset`.
        The same iteration twice gives the same bits."""
        ...

    def apply(self, iteration: int, total: Vector) -> TrainingProgress | None:
        """The sum over all ranks is there; a source that trains takes its step and says how well it does."""
        ...

    def reset(self) -> None:
        """Back to the state before the first iteration."""
        ...


@runtime_checkable
class DrawnSource(GradientSource, Protocol):
    """A source that draws any part of a gradient into memory of the caller, and needs none itself."""

    def draw(self, iteration: int, first: int, into: Vector) -> None:
        """Write the elements of `gradient(iteration)` from `first` on, as many as `into` holds."""
        ...


@runtime_checkable
class AwaitedSource(GradientSource, Protocol):
    """A source of gradients that come from outside at unknown times. `iterations` is beyond reach until the poster
    closes the source. Then it is the number of posted gradients."""

    poll_ns: int
    """how often a Machine that awaits a gradient asks; 0: the world calls the Machine when one is there"""

    def is_ready(self, iteration: int) -> bool:
        """Whether `gradient` may be called."""
        ...


@runtime_checkable
class TaskedSource(AwaitedSource, Protocol):
    """A source whose iterations may be operations of a mesh."""

    def task(self, iteration: int) -> MeshTask | None:
        """Operation of an iteration that is ready; None: the job's collective runs it."""
        ...


def awaited(source: GradientSource) -> AwaitedSource | None:
    """The source, if it awaits its gradients. `isinstance` alone looks at each attribute of a protocol: for most
    sources it took a tenth of the time in which a small worker is made."""
    return source if hasattr(source, "is_ready") and isinstance(source, AwaitedSource) else None


def work_buffers(gradient: Vector, room: Vector, in_place: bool) -> tuple[Vector, Vector]:
    """What a collective reads, and where it writes the result. `room`: at least as long as the gradient; in place both
    are there."""
    result = room[: len(gradient)]
    if not in_place:
        return gradient, result
    result[:] = gradient
    return result, result
