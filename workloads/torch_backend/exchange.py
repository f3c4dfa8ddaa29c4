"""Values through the store of the rendezvous: one rank leaves them, others take them, and the last one removes them.

The name of the process group is part of every key. No two groups of any training have the same name
(`testbed.train.session`). So a rank cannot read what another group left in the same store.
"""

from __future__ import annotations

import io
import os
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any, TypeVar

import torch
import torch.distributed as dist

from workloads.torch_backend.tensors import contents

__all__ = ["StoreExchange", "StoreProblem"]

_LEAST_PAUSE_S, _MOST_PAUSE_S = 0.0005, 0.02
"""pauses between two looks into the store, and into whether the network failed meanwhile"""
_REASON_S = 5.0
"""seconds in which the network must learn why the store is gone: it lives in one of the ranks"""
_CLOSE_S = 5.0
"""seconds in which other ranks must read what a rank left that destroys its group"""
_T = TypeVar("_T")


class StoreProblem(RuntimeError):
    """The store does not hold what it must; the text names the key and the cause."""


class StoreExchange:
    """The exchange of one process group, for any number of threads. `check` raises when the training cannot
    continue."""

    def __init__(self, store: Any, group: str, check: Callable[[], None]) -> None:
        self._store, self._prefix, self._check = store, f"ina/{group}", check
        self._left: deque[str] = deque()
        """keys that this rank wrote and others have perhaps not read"""
        self._lock = threading.Lock()

    def put(self, place: str, tensors: list[torch.Tensor], readers: int) -> None:
        """Put tensors there for `readers` ranks. Raises StoreProblem, and what `check` raises."""
        if not readers:
            return
        key, data = f"{self._prefix}/{place}", io.BytesIO()
        torch.save([contents(tensor) for tensor in tensors], data)
        with self._lock:
            while self._left and not self._has(self._left[0]):
                self._left.popleft()
            self._left.append(key)
        self._asked(key, lambda: self._store.set(key, data.getvalue()))

    def get(self, place: str, readers: int, limit_s: float, whose: int) -> list[torch.Tensor]:
        """The tensors that rank `whose` put there for `readers` ranks. Raises StoreProblem, and what `check` raises."""
        key = f"{self._prefix}/{place}"
        deadline, pause = time.monotonic() + limit_s, _LEAST_PAUSE_S
        # Not `wait`: each of its short timeouts would print a warning.
        while not self._has(key):
            self._check()
            if time.monotonic() >= deadline:
                raise StoreProblem(f"rank {whose} left nothing at {key} within {limit_s:g} s")
            time.sleep(pause)
            pause = min(2 * pause, _MOST_PAUSE_S)
        data = self._asked(key, lambda: self._store.get(key))
        try:
            found = torch.load(io.BytesIO(data), weights_only=True)
        except Exception as error:
            cause = (str(error).splitlines() or [""])[0]
            raise StoreProblem(
                f"what rank {whose} left at {key} cannot be loaded: {type(error).__name__}: {cause}"
            ) from error
        if not isinstance(found, list) or not all(isinstance(item, torch.Tensor) for item in found):
            raise StoreProblem(f"what rank {whose} left at {key} is no list of tensors: {type(found).__name__}")
        if readers == 1 or self._asked(key, lambda: self._store.add(f"{key}/read", 1)) >= readers:
            self._drop(key)
        return found

    def close(self) -> None:
        """Remove this rank's data from the store: other ranks have read it, or will not."""
        deadline, is_there = time.monotonic() + _CLOSE_S, True
        try:
            for key in self._left:
                while time.monotonic() < deadline and self._store.check([key]):
                    self._check()
                    time.sleep(_LEAST_PAUSE_S)
        except dist.DistNetworkError:
            is_there = False
        except Exception:  # nothing can be summed any more
            pass
        # For each question to a store that is gone, torch prints a stack.
        while is_there and self._left:
            is_there = self._drop(self._left.popleft())
        self._left.clear()

    def release(self) -> Any:
        """Release the store of this group, which no rank needs any more. Returns it where torch made it. A rank that
        makes a new group at once may connect to the server of the old one, and all must meet at the same server."""
        store, self._store = self._store, None
        inner = store
        while hasattr(inner, "underlying_store"):
            inner = inner.underlying_store
        port = getattr(inner, "port", None)
        return store if port is not None and str(port) == os.environ.get("MASTER_PORT") else None

    def _has(self, key: str) -> bool:
        return bool(self._asked(key, lambda: self._store.check([key])))

    def _asked(self, key: str, question: Callable[[], _T]) -> _T:
        """What the store answers. If it does not answer because a rank ended, raises the reason of that end. Otherwise
        raises StoreProblem."""
        try:
            return question()
        except Exception as error:
            deadline = time.monotonic() + _REASON_S
            while time.monotonic() < deadline:
                self._check()
                time.sleep(_MOST_PAUSE_S)
            raise StoreProblem(f"the store failed at {key}: {type(error).__name__}: {error}") from error

    def _drop(self, key: str) -> bool:
        """False: the store is gone with all it held."""
        for name in (key, f"{key}/read"):
            try:
                self._store.delete_key(name)
            except dist.DistNetworkError:
                return False
            except (RuntimeError, AttributeError):  # of a store that keeps everything
                pass
        return True
