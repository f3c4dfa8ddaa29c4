"""What a collective returns at once: a handle that waits, and says why there is no result."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist

from workloads.ranks.client import NetworkFailed

__all__ = ["NetworkWork", "done_work"]


class NetworkWork(dist.Work):
    """Of `tensors`, whose values are the result once `parts` calls of `part_done` were made, each from any thread."""

    def __init__(self, tensors: list[torch.Tensor], parts: int = 1) -> None:
        super().__init__()
        self._tensors, self._missing = tensors, parts
        self._problem: str | None = None
        self._over: torch.futures.Future[Any] = torch.futures.Future()
        # DistributedDataParallel reads its future from C++, where an error that Python raised in a callback is a C++
        # exception, and one of `set_exception` a value of the wrong type, which ends the process.
        self._future: torch.futures.Future[Any] = self._over.then(self._value)
        if not parts:
            self._over.set_result(None)

    def part_done(self) -> None:
        self._missing -= 1
        if not self._missing and self._problem is None:
            self._over.set_result(None)

    def fail(self, reason: str) -> None:
        if self._problem is None and not self._over.done():
            self._problem = reason
            self._over.set_result(None)

    def is_completed(self) -> bool:
        return bool(self._over.done())

    def is_success(self) -> bool:
        return self.is_completed() and self._problem is None

    def wait(self, timeout: timedelta = timedelta(0)) -> bool:
        """Raises NetworkFailed with the network's reason. Needs no time limit of its own: the network gives up in
        bounded time."""
        self._over.wait()
        if self._problem is not None:
            raise NetworkFailed(self._problem)
        return True

    def get_future(self) -> torch.futures.Future[Any]:
        return self._future

    def result(self) -> list[torch.Tensor]:
        return self._tensors

    def _value(self, _: torch.futures.Future[Any]) -> list[torch.Tensor]:
        if self._problem is not None:
            raise NetworkFailed(self._problem)
        return self._tensors


def done_work(tensors: list[torch.Tensor]) -> NetworkWork:
    return NetworkWork(tensors, 0)
