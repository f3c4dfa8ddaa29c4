"""One step on many hosts at once. Each host's result is reported when it is there; one that hangs delays no other."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar

from workloads.errors import LabError

__all__ = ["TaskOutcome", "everywhere", "require_all"]

_T = TypeVar("_T")
_K = TypeVar("_K")


@dataclass(frozen=True, slots=True)
class TaskOutcome(Generic[_K, _T]):
    target: _K
    value: _T | None
    error: Exception | None
    seconds: float


def everywhere(
    act: Callable[[_K], _T], targets: Iterable[_K], *, name: Callable[[_K], str] = str
) -> Iterator[TaskOutcome[_K, _T]]:
    """One thread per target; outcomes in the order in which they come. `act` bounds its own time."""
    done: queue.SimpleQueue[TaskOutcome[_K, _T]] = queue.SimpleQueue()

    def work(target: _K) -> None:
        began = time.monotonic()
        value, error = None, None
        try:
            value = act(target)
        except Exception as caught:
            error = caught
        done.put(TaskOutcome(target, value, error, time.monotonic() - began))

    count = 0
    for target in targets:
        # A daemon: Ctrl-C does not wait for a host.
        threading.Thread(target=work, args=(target,), name=f"lab {name(target)}", daemon=True).start()
        count += 1
    for _ in range(count):
        yield done.get()


def require_all(outcomes: Iterable[TaskOutcome[_K, _T]]) -> dict[_K, _T]:
    """Values by target. Raises the failure that came first, as it is; of several it reports how many more there
    were."""
    values: dict[_K, _T] = {}
    failed: list[Exception] = []
    for outcome in outcomes:
        if outcome.error is not None:
            failed.append(outcome.error)
        else:
            values[outcome.target] = outcome.value  # type: ignore[assignment]
    if failed:
        first = failed[0]
        others = [error.host for error in failed[1:] if isinstance(error, LabError)]
        if isinstance(first, LabError) and others:
            more = f"(and {len(others)} more: {', '.join(sorted(others))})"
            raise LabError(first.host, f"{first.problem} {more}", first.output) from first
        raise first
    return values
