"""`tb worker --device`: one host's workload on an RDMA device, events as JSON lines."""

from __future__ import annotations

import contextlib
import dataclasses
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from workloads.config import WorkerConfig
from workloads.errors import LabError
from workloads.machine import Event

if TYPE_CHECKING:
    from workloads.gradients import GradientSource
    from workloads.verbs import VerbsWorker
    from workloads.verbs.exchange import FolderExchange

__all__ = ["run_device_worker", "true_names"]

_NAMES_S, _CONNECTED_S = 120.0, 60.0
"""how long we wait for the slowest peer"""
_LONGEST_SLEEP_NS = 5_000_000


def run_device_worker(
    config: WorkerConfig,
    device: str,
    source: GradientSource,
    exchange: FolderExchange,
    *,
    tell: Callable[[int, Event], None],
    stopped: Callable[[], bool],
    linger_ns: int,
    open_worker: Callable[[WorkerConfig, str, GradientSource], VerbsWorker] | None = None,
) -> bool:
    """Whether the job was finished. Queue pairs answer until all ranks are done, at most `linger_ns`. Raises as
    `VerbsWorker` and `FolderExchange` do."""
    from workloads.verbs import VerbsWorker

    worker = (open_worker or VerbsWorker)(config, device, source)
    everybody = range(config.collective.size)
    with contextlib.closing(worker):
        worker.connect(true_names(config, exchange, dataclasses.asdict(worker.names)))
        exchange.publish("connected", {})
        # A packet that comes before its queue pair is connected is lost, and costs a timeout.
        exchange.gather("connected", everybody, _CONNECTED_S)
        origin = time.monotonic_ns()
        done_at: int | None = None
        while not stopped():
            now = time.monotonic_ns() - origin
            _turn(worker, now, tell)
            if done_at is None and (worker.finished or worker.failed):
                done_at = now
                with contextlib.suppress(LabError):
                    exchange.publish("done", {})
            if done_at is not None and (now > done_at + linger_ns or exchange.there("done", everybody)):
                break
        now = time.monotonic_ns() - origin
        worker.finish(now)
        _tell_all(worker, now, tell)
        return worker.finished and not worker.failed


def true_names(config: WorkerConfig, exchange: FolderExchange, own: dict[str, int]) -> WorkerConfig:
    """Publish our names, and put those of both neighbours into the configuration."""
    from workloads.verbs.names import VerbsNames, true_config

    rank, size = config.collective.rank, config.collective.size
    exchange.publish("names", own)
    successor, predecessor = (rank + 1) % size, (rank - 1) % size
    names = exchange.gather("names", {successor, predecessor}, _NAMES_S)
    return true_config(config, VerbsNames(**own), VerbsNames(**names[successor]), VerbsNames(**names[predecessor]))


def _turn(worker: VerbsWorker, now: int, tell: Callable[[int, Event], None]) -> None:
    due = worker.get_timer()
    if due is not None and due <= now:
        worker.handle_timer(now)
        due = worker.get_timer()
    _tell_all(worker, now, tell)
    pause = _LONGEST_SLEEP_NS if due is None else min(_LONGEST_SLEEP_NS, due - now)
    if pause > 0:
        time.sleep(pause / 1e9)


def _tell_all(worker: VerbsWorker, now: int, tell: Callable[[int, Event], None]) -> None:
    while (event := worker.next_event()) is not None:
        tell(now, event)
