"""What a collective returns at once: a handle that waits, and reports why there is no result."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist

from workloads.ranks.client import NetworkFailed
from workloads.torch_backend.runner import Runner

__all__ = ["CollectiveTimeout", "InaWork"]


class CollectiveTimeout(TimeoutError, RuntimeError):
    """A collective was not complete within the time limit of `wait`. It may still complete."""


class InaWork(dist.Work):
    """The work on `tensors`. Their values are the result once `parts` calls of `part_done` were made, each from any
    thread. `what`: the collective, for a person. `ended` is called when it is complete or failed."""

    def __init__(
        self, what: str, tensors: list[torch.Tensor], runner: Runner, parts: int = 1,
        ended: Callable[[InaWork], None] = lambda work: None,
    ) -> None:  # fmt: skip
        super().__init__()
        self._ended = ended
        self._what, self._tensors, self._runner, self._missing = what, tensors, runner, parts
        self._problem: str | None = None
        self._lock, self._over = threading.Lock(), threading.Event()
        self._future: torch.futures.Future[Any] | None = None
        self._trigger: torch.futures.Future[Any] | None = None
        self.source = -1
        """sender's rank in the group, for a recv that names no rank"""

    def part_done(self) -> None:
        with self._lock:
            self._missing -= 1
            if self._missing or self._over.is_set():
                return
        self._finish(None)

    def fail(self, reason: str) -> None:
        self._finish(reason)

    def is_completed(self) -> bool:
        return self._over.is_set()

    def is_success(self) -> bool:
        return self.is_completed() and self._problem is None

    def wait(self, timeout: timedelta = timedelta(0)) -> bool:
        """Raises NetworkFailed with the reason, or CollectiveTimeout. Without `timeout` the time limits of the process
        group and of the network end the wait."""
        limit_s = timeout.total_seconds()
        if not self._over.wait(limit_s if limit_s > 0 else None):
            raise CollectiveTimeout(f"{self._what} was not complete after {limit_s:g} s: other ranks did not post it")
        if self._problem is not None:
            raise NetworkFailed(self._problem)
        return True

    def join(self) -> None:
        """Wait until it is complete or failed."""
        self._over.wait()

    def get_future(self) -> torch.futures.Future[Any]:
        with self._lock:
            if self._future is None:
                # DistributedDataParallel reads its future from C++, where an error that Python raised in a callback is
                # a C++ exception, and one of `set_exception` a value of the wrong type, which ends the process.
                self._trigger = torch.futures.Future()
                self._future = self._trigger.then(self._value)
                if self._over.is_set():
                    self._trigger.set_result(None)
                    self._trigger = None
            return self._future

    def result(self) -> list[torch.Tensor]:
        return self._tensors

    def _source_rank(self) -> int:
        return self.source

    def _finish(self, problem: str | None) -> None:
        with self._lock:
            if self._over.is_set():
                return
            self._problem = problem
            self._over.set()
            trigger, self._trigger = self._trigger, None
        self._ended(self)
        if trigger is not None:
            self._runner.submit(lambda: trigger.set_result(None))

    def _value(self, _: torch.futures.Future[Any]) -> list[torch.Tensor]:
        if self._problem is not None:
            raise NetworkFailed(self._problem)
        return self._tensors
