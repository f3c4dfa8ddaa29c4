"""Collectives through the store of the rendezvous: every rank leaves what it has, and reads what the others left."""

from __future__ import annotations

import contextlib
import io
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any, TypeVar

import torch

__all__ = ["StoreExchange", "combine"]

_LEAST_PAUSE_S, _MOST_PAUSE_S = 0.0005, 0.02
"""between two looks into the store, and whether the network failed meanwhile"""


_REASON_S = 5.0
"""that the network may take to learn why the store is gone: it lives in one of the ranks"""
_T = TypeVar("_T")


class StoreExchange:
    """Of one process group. `check` raises when the training cannot go on, however long somebody waits for a rank."""

    def __init__(self, store: Any, rank: int, size: int, timeout: timedelta, check: Callable[[], None]) -> None:
        self._store, self._rank, self._size, self._timeout, self._check = store, rank, size, timeout, check
        self._turn = 0
        self._sent: dict[tuple[int, int], int] = {}
        self._received: dict[tuple[int, int], int] = {}

    def gather(self, value: Any) -> list[Any]:
        """What each rank gave, by rank: tensors, and lists of them. All ranks call it alike. Raises TimeoutError."""
        turn, self._turn = self._turn, self._turn + 1
        self._put(f"ina/{turn}/{self._rank}", value)
        found = [self._get(f"ina/{turn}/{rank}") for rank in range(self._size)]
        # Who is here has read all of the turn before.
        self._drop(f"ina/{turn - 1}/{self._rank}")
        return found

    def send(self, target: int, tag: int, tensor: torch.Tensor) -> None:
        number = self._sent[target, tag] = self._sent.get((target, tag), -1) + 1
        self._put(f"ina/to/{target}/{self._rank}/{tag}/{number}", tensor)

    def receive(self, source: int, tag: int) -> torch.Tensor:
        number = self._received[source, tag] = self._received.get((source, tag), -1) + 1
        key = f"ina/to/{self._rank}/{source}/{tag}/{number}"
        tensor: torch.Tensor = self._get(key)
        self._drop(key)
        return tensor

    def _put(self, key: str, value: Any) -> None:
        data = io.BytesIO()
        torch.save(value, data)
        self._asked(lambda: self._store.set(key, data.getvalue()))

    def _get(self, key: str) -> Any:
        deadline, pause = time.monotonic() + self._timeout.total_seconds(), _LEAST_PAUSE_S
        # Not `wait`: each of its short timeouts would print a warning.
        while not self._asked(lambda: self._store.check([key])):
            self._check()
            if time.monotonic() >= deadline:
                raise TimeoutError(
                    f"rank {self._rank} waited {self._timeout.total_seconds():g} s for another rank ({key})"
                )
            time.sleep(pause)
            pause = min(2 * pause, _MOST_PAUSE_S)
        return torch.load(io.BytesIO(self._asked(lambda: self._store.get(key))), weights_only=True)

    def _asked(self, question: Callable[[], _T]) -> _T:
        """What the store says. Raises NetworkFailed with the reason of a rank's end, where that is why it says
        nothing, else what the store raises."""
        try:
            return question()
        except RuntimeError:
            deadline = time.monotonic() + _REASON_S
            while time.monotonic() < deadline:
                self._check()
                time.sleep(_MOST_PAUSE_S)
            raise

    def _drop(self, key: str) -> None:
        with contextlib.suppress(RuntimeError, NotImplementedError):  # of a store that keeps everything
            self._store.delete_key(key)


def combine(op: str, values: list[torch.Tensor]) -> torch.Tensor:
    """Folded in rank order. Raises ValueError for an operation that is none of torch's plain ones."""
    total = values[0].clone()
    for value in values[1:]:
        total = _combined(op, total, value)
    if op == "avg":
        total = total / len(values) if total.is_floating_point() else total // len(values)
    return total


def _combined(op: str, left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
    match op:
        case "sum" | "avg":
            return left + right
        case "product":
            return left * right
        case "min":
            return torch.minimum(left, right)
        case "max":
            return torch.maximum(left, right)
        case "band":
            return torch.bitwise_and(left, right)
        case "bor":
            return torch.bitwise_or(left, right)
        case "bxor":
            return torch.bitwise_xor(left, right)
    raise ValueError(f"the backend ina has no reduction {op!r}; it has sum, avg, product, min, max, band, bor, bxor")
