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
        self._future: torch.futures.Future[Any] = torch.futures.Future()
        self._problem: str | None = None
        if not parts:
            self._future.set_result(tensors)

    def part_done(self) -> None:
        self._missing -= 1
        if not self._missing and self._problem is None:
            self._future.set_result(self._tensors)

    def fail(self, reason: str) -> None:
        if self._problem is None and not self._future.done():
            self._problem = reason
            self._future.set_exception(NetworkFailed(reason))

    def is_completed(self) -> bool:
        return bool(self._future.done())

    def is_success(self) -> bool:
        return self.is_completed() and self._problem is None

    def wait(self, timeout: timedelta = timedelta(0)) -> bool:
        """Raises NetworkFailed with the network's reason. Needs no time limit of its own: the network gives up in bounded time."""
        self._future.wait()
        return True

    def get_future(self) -> torch.futures.Future[Any]:
        return self._future

    def result(self) -> list[torch.Tensor]:
        return self._tensors


def done_work(tensors: list[torch.Tensor]) -> NetworkWork:
    return NetworkWork(tensors, 0)
