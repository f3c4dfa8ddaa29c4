"""Threads for what must not hold up the reader of the network: exchanges through the store, and callbacks of users."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable

__all__ = ["InOrder", "Runner"]


class Runner:
    """Runs each job at once, in an idle thread or a new one: a callback may wait for another collective."""

    def __init__(self) -> None:
        self._jobs: deque[Callable[[], None]] = deque()
        self._changed = threading.Condition()
        self._idle = 0

    def submit(self, job: Callable[[], None]) -> None:
        """`job` raises nothing."""
        with self._changed:
            self._jobs.append(job)
            if self._idle >= len(self._jobs):
                self._changed.notify()
                return
        try:
            threading.Thread(target=self._work, name="ina collectives", daemon=True).start()
        except RuntimeError:  # the interpreter ends, and starts no thread any more
            self._run_one()

    def _work(self) -> None:
        while True:
            self._run_one()
            with self._changed:
                self._idle += 1
                while not self._jobs:
                    self._changed.wait()
                self._idle -= 1

    def _run_one(self) -> None:
        with self._changed:
            job = self._jobs.popleft() if self._jobs else None
        if job is not None:
            job()


class InOrder:
    """Jobs that run one after the other, in threads of a runner."""

    def __init__(self, runner: Runner) -> None:
        self._runner, self._jobs, self._lock, self._runs = runner, deque[Callable[[], None]](), threading.Lock(), False

    def submit(self, job: Callable[[], None]) -> None:
        with self._lock:
            self._jobs.append(job)
            if self._runs:
                return
            self._runs = True
        self._runner.submit(self._work)

    def _work(self) -> None:
        while True:
            with self._lock:
                if not self._jobs:
                    self._runs = False
                    return
                job = self._jobs.popleft()
            job()
