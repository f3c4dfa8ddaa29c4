"""Gradients that come from outside, one after the other: those of a training process next to the worker.

The code that runs the Machines attaches a source for each rank before it makes them. A configuration of kind `external`
then finds it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Protocol

import numpy as np

from workloads.config import MeshTask
from workloads.errors import ScenarioError
from workloads.events import TrainingProgress
from workloads.gradients.base import GradientSource, Vector

__all__ = ["ENDLESS", "ExternalSource", "PieceMailbox", "PostedPieces", "attach_sources", "attached", "attached_source"]

ENDLESS = 1 << 40
"""iterations of a source while more may come"""


class PieceMailbox(Protocol):
    """Where pieces of gradients are posted and their sums are left. Pieces are counted from 0."""

    @property
    def posted(self) -> int:
        """pieces so far"""
        ...

    @property
    def delivered(self) -> int:
        """sums that were left so far"""
        ...

    @property
    def closed(self) -> bool:
        """whether no more gradients will be posted"""
        ...

    def take(self, piece: int) -> Vector:
        """A posted piece without a sum; valid until its sum is left."""
        ...

    def leave(self, piece: int, total: Vector) -> None:
        """The sum of the oldest piece without one; as long as that."""
        ...

    def task(self, piece: int) -> MeshTask | None:
        """Operation of a posted piece over the mesh; None: the job's collective sums it."""
        ...


class ExternalSource:
    """An AwaitedSource of pieces of at most `elements`. `fill_up`: for a collective whose gradients have one size:
    shorter ones are padded with zeros, and the padding of the result is dropped."""

    def __init__(self, mailbox: PieceMailbox, elements: int, *, poll_ns: int = 0, fill_up: bool = False) -> None:
        self._mailbox, self.elements, self.poll_ns = mailbox, elements, poll_ns
        self.dtype: np.dtype[Any] = np.dtype("<f4")
        self._filled = np.zeros(elements, self.dtype) if fill_up else None
        self._size = elements

    @property
    def iterations(self) -> int:
        return self._mailbox.posted if self._mailbox.closed else ENDLESS

    def is_ready(self, iteration: int) -> bool:
        """False for ever for a sum that was delivered already: a restarted Machine has nothing to do here."""
        return self._mailbox.delivered <= iteration < self._mailbox.posted

    def gradient(self, iteration: int) -> Vector:
        piece = self._mailbox.take(iteration)
        self._size = len(piece)
        if self._filled is None or self._size == self.elements or self.task(iteration) is not None:
            return piece
        self._filled[: self._size], self._filled[self._size :] = piece, 0
        return self._filled

    def task(self, iteration: int) -> MeshTask | None:
        return self._mailbox.task(iteration)

    def apply(self, iteration: int, total: Vector) -> TrainingProgress | None:
        self._mailbox.leave(iteration, total[: self._size])
        return None

    def reset(self) -> None:
        """There is no way back: what was left belongs to the training process."""


class PostedPieces:
    """A Mailbox in the memory of one process."""

    def __init__(self) -> None:
        self.posted = self.delivered = 0
        self.closed = False
        self._pieces: dict[int, tuple[Vector, Vector, MeshTask | None]] = {}

    def post(self, piece: Vector, total: Vector, task: MeshTask | None = None) -> None:
        """`total`: where its sum is to be left, as long as it, perhaps itself."""
        self._pieces[self.posted] = piece, total, task
        self.posted += 1

    def task(self, piece: int) -> MeshTask | None:
        return self._pieces[piece][2]

    def take(self, piece: int) -> Vector:
        return self._pieces[piece][0]

    def leave(self, piece: int, total: Vector) -> None:
        _, target, _ = self._pieces.pop(piece)
        target[:] = total
        self.delivered = piece + 1


_attached: dict[int, GradientSource] = {}


def attach_sources(sources: Mapping[int, GradientSource]) -> None:
    """Workers of this process, and of processes that it forks, get these by rank; those attached before are
    forgotten."""
    _attached.clear()
    _attached.update(sources)


@contextmanager
def attached(rank: int, source: GradientSource) -> Iterator[None]:
    """A worker of this rank that is made here gets this source."""
    before = dict(_attached)
    _attached[rank] = source
    try:
        yield
    finally:
        attach_sources(before)


def attached_source(rank: int) -> GradientSource:
    """Raises ScenarioError when none is attached."""
    if rank not in _attached:
        raise ScenarioError(
            "gradients come from a training process, and there is none", key="job.workload", found="external",
            allowed="with `tb train` or `tb up`",
        )  # fmt: skip
    return _attached[rank]
