"""The iterations of one worker, one after the other: when they start, what they work on, what is told of them.

For workers that are Machines of their own. `WorkerMachine` has the same life around an RC endpoint.
"""

from __future__ import annotations

import hashlib
from collections import deque

import numpy as np

from workloads.events import CollectiveCompleted, WorkerFailed, WorkerFinished
from workloads.gradients import GradientSource, Vector
from workloads.machine import Event

__all__ = ["Training"]

_LAST_DIGEST_DELAY_NS = 100_000_000
"""hashing is the testbed's own work: the last digest must not take the processor from peers that still receive"""


class Training:
    """The first iteration is due at `start_ns`, each `straggle_ns` late. The digest of a result is taken in a wake-up of its
    own, so that what the last packet leads to leaves first; the next gradient is computed there too.

    `gradient`: shape (elements,), of the iteration that runs or comes next; `result`: same shape, to be filled in place."""

    def __init__(self, source: GradientSource, *, start_ns: int, straggle_ns: int) -> None:
        self._source, self._straggle_ns = source, straggle_ns
        self.iteration = 0
        self.gradient: Vector = source.gradient(0)
        self.result: Vector = np.empty(source.elements, source.dtype)
        self.result.fill(0)  # has the pages now, not while the clock runs
        self._start_at: int | None = start_ns + straggle_ns
        self._digest_at: int | None = None
        self._completed_at = 0
        self.events: deque[Event] = deque()
        """in the order of time; the worker adds its own"""
        self.finished = self.failed = False

    def get_timer(self) -> int | None:
        return self._digest_at if self._start_at is None else self._start_at

    def handle_timer(self, now: int) -> bool:
        """True: the iteration starts now."""
        if self._digest_at is not None and self._digest_at <= now:
            self._digest_at = None
            self._conclude(now)
            return False  # the next wake-up starts the next one, so that no event carries a time from before the work
        if self._start_at is not None and self._start_at <= now:
            self._start_at = None
            return True
        return False

    def complete(self, now: int) -> None:
        """The result is whole."""
        last = self.iteration == self._source.iterations - 1
        self._completed_at = now
        self._digest_at = now + (_LAST_DIGEST_DELAY_NS if last else 0)

    def fail(self, reason: str, detail: str) -> None:
        if not self.failed and not self.finished:
            self.failed = True
            self._start_at = self._digest_at = None
            self.events.append(WorkerFailed(reason, detail))

    def _conclude(self, now: int) -> None:
        data = self.result.data.cast("B")
        digest = hashlib.sha256(data).hexdigest()
        self.events.append(CollectiveCompleted(self.iteration, digest, len(data), self._completed_at))
        progress = self._source.apply(self.iteration, self.result)
        if progress is not None:
            self.events.append(progress)
        self.iteration += 1
        if self.iteration < self._source.iterations:
            self.gradient = self._source.gradient(self.iteration)
            self._start_at = now + self._straggle_ns
        else:
            self.finished = True
            self.events.append(WorkerFinished(self._source.iterations))
