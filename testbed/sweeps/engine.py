"""Computes what is missing of a sweep, in parallel processes, and keeps every result as soon as it is there."""

from __future__ import annotations

import multiprocessing
import signal
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from testbed.sweeps.evaluate import code_version, evaluate
from testbed.sweeps.model import PointTask, Sweep
from testbed.sweeps.store import Store
from testbed.sweeps.tasks import make_tasks

__all__ = ["Batch", "ComputeBatches", "Finished", "Results", "compute_batch", "run_sweep"]

_BATCHES_PER_JOB = 16
_LARGEST_BATCH = 64


@dataclass(frozen=True, slots=True)
class Finished:
    sweep: Sweep
    rows: tuple[tuple[PointTask, dict[str, Any]], ...]
    """every task with its result, in the order of the grid"""
    skipped: Counter[str]
    """left out, by reason"""
    reused: int
    """results that were there already"""
    anew: int
    """results that were there from other code only, and were computed again"""
    code: str
    """version of the model's code"""
    folder: Path = field(default_factory=Path)


Batch = list[tuple[str, PointTask]]
Results = list[tuple[str, dict[str, Any]]]
ComputeBatches = Callable[[Sequence[Batch]], Iterator[Results]]


def run_sweep(
    sweep: Sweep,
    folder: Path,
    jobs: int,
    on_progress: Callable[[int, int, int], None],
    elsewhere: ComputeBatches | None = None,
) -> Finished:
    """`on_progress(done, total, reused)` after every batch. Results live in `folder`; a killed run goes on there.
    `elsewhere`: what computes instead of `jobs` processes of this machine."""
    tasks, skipped = make_tasks(sweep)
    code = code_version(sweep.model)
    keys = [task.key(code) for task in tasks]
    store = Store(folder)
    try:
        missing = [(key, task) for key, task in zip(keys, tasks, strict=True) if key not in store.results]
        reused = done = len(tasks) - len(missing)
        points = {key: task.key("") for key, task in missing}
        anew = sum(point in store.points for point in points.values())
        on_progress(done, len(tasks), reused)
        batches = _batches(missing, jobs)
        for results in _computed(batches, jobs) if elsewhere is None else elsewhere(batches):
            for key, result in results:
                store.add(key, points[key], result)
            done += len(results)
            on_progress(done, len(tasks), reused)
    finally:
        store.close()
    rows = tuple((task, store.results[key]) for key, task in zip(keys, tasks, strict=True))
    return Finished(sweep, rows, skipped, reused, anew, code, folder)


def _batches(missing: Sequence[tuple[str, PointTask]], jobs: int) -> list[Batch]:
    size = max(1, min(_LARGEST_BATCH, len(missing) // (jobs * _BATCHES_PER_JOB)))
    return [list(missing[start : start + size]) for start in range(0, len(missing), size)]


def _computed(batches: list[Batch], jobs: int) -> Iterator[Results]:
    if jobs == 1 or len(batches) < 2:
        yield from map(compute_batch, batches)
        return
    context = multiprocessing.get_context("spawn")
    with context.Pool(min(jobs, len(batches)), _leave_interrupts_to_the_parent) as pool:
        yield from pool.imap_unordered(compute_batch, batches)


def compute_batch(batch: Batch) -> Results:
    return [(key, evaluate(task)) for key, task in batch]


def _leave_interrupts_to_the_parent() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
