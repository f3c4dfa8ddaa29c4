"""Runs the schedules of a hunt, in this process or in several, and stops at the first that fails.

The result does not depend on the number of processes. Chunks are of one size, and each stops at its first failure. What
counts are the chunks up to the first one that failed.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass
from functools import partial
from random import Random

from testbed.hunt.coverage import Coverage
from testbed.hunt.draw import draw_schedule, draw_traced
from testbed.hunt.draw_fabric import RACK
from testbed.hunt.judge import OURS, CheckFailure, Machines, judge_schedule
from testbed.hunt.protocols import kind_of_scenario
from testbed.hunt.schedule import Schedule
from testbed.hunt.state import ChunkResult, ChunkStore
from testbed.kernel.garbage import spared
from testbed.kernel.interruption import Interruption
from testbed.kernel.processes import die_with_parent
from testbed.scenario.model import Scenario
from testbed.scenario.protocols.names import DEFAULT_PROGRAM

__all__ = ["CHUNK", "Found", "Prey", "in_pool", "processes", "run_chunk", "run_hunt"]

CHUNK = 50
"""schedules"""
_LOOK_EVERY_S = 0.25


@dataclass(frozen=True, slots=True)
class Prey:
    """What is hunted in."""

    seed: int
    schedules: int
    base: Scenario | None = None
    program: str = DEFAULT_PROGRAM
    kind: str = RACK
    """of hunt: of topology, or the name of a datagram protocol; with a base, that one's"""
    recovery: str = ""
    """of all rings; empty: it is drawn"""

    @property
    def hunted(self) -> str:
        """The kind, of the base where there is one."""
        return self.kind if self.base is None else kind_of_scenario(self.base)

    def schedule(self, number: int) -> Schedule:
        return draw_schedule(self.seed, number, self.base, self.program, self.kind, self.recovery)

    def drawn(self, dice: Random, number: int) -> Schedule:
        """Traced; the first word of the dice decides about recipes, and the second is the seed of the run."""
        return draw_traced(dice, self.seed, number, self.base, self.program, self.kind, self.recovery)


@dataclass(frozen=True, slots=True)
class Found:
    """How a hunt ended."""

    coverage: Coverage
    number: int | None = None
    """of the first schedule that failed"""
    failure: CheckFailure | None = None
    again: Callable[[], Schedule] | None = None
    """draws the schedule that failed; None: `Prey.schedule` does"""

    @property
    def scenario(self) -> Scenario | None:
        """The one that failed, if `Prey.schedule` does not draw it."""
        return None if self.again is None else self.again().scenario


def run_chunk(
    prey: Prey, first: int, machines: Machines = OURS, check: Callable[[], None] = lambda: None
) -> ChunkResult:
    """Calls `check` before each schedule."""
    coverage = Coverage()
    last = min(first + CHUNK, prey.schedules)
    for number in range(first, last):
        check()
        failure, met = judge_schedule(prey.schedule(number), machines)
        coverage.merge(met)
        if failure is not None:
            return ChunkResult(first, last - first, coverage, number, failure)
    return ChunkResult(first, last - first, coverage)


def run_hunt(
    prey: Prey,
    jobs: int,
    store: ChunkStore,
    tell: Callable[[int], None] = lambda done: None,
    machines: Machines = OURS,
) -> Found:
    """Goes on where `store` stands. `tell` gets the number of schedules done each time that grows.

    Raises KeyboardInterrupt after SIGINT, SIGTERM or SIGHUP, between two schedules or chunks. Raised elsewhere, Python
    may drop it where a finaliser runs, or leave a pool of processes half made.
    """
    firsts = list(range(0, prey.schedules, CHUNK))
    bad = min((first for first, chunk in store.done.items() if chunk.failure), default=prey.schedules)
    missing = [first for first in firsts if first not in store.done and first < bad]
    done = sum(chunk.count for chunk in store.done.values())
    tell(done)
    # To look through all modules for garbage takes a tenth of the time.
    with Interruption() as interruption, spared():
        chunks = (
            _here(prey, missing, machines, interruption)
            if jobs == 1
            else _in_processes(prey, missing, jobs, machines, interruption)
        )
        with contextlib.closing(chunks):
            for chunk in chunks:
                store.add(chunk)
                interruption.check()
                done += chunk.count
                tell(done)
    return _result(firsts, store)


def _here(
    prey: Prey, firsts: list[int], machines: Machines, interruption: Interruption
) -> Generator[ChunkResult, None, None]:
    for first in firsts:
        chunk = run_chunk(prey, first, machines, interruption.check)
        yield chunk
        if chunk.failure is not None:
            return


@contextlib.contextmanager
def processes(jobs: int) -> Iterator[ProcessPoolExecutor]:
    """A pool. An exception ends its processes, however long a schedule takes."""
    others = set(multiprocessing.active_children())
    method = "fork" if "fork" in multiprocessing.get_all_start_methods() else None
    pool = ProcessPoolExecutor(
        jobs, multiprocessing.get_context(method), initializer=_begin_process, initargs=(os.getpid(),)
    )
    try:
        yield pool
    except BaseException:
        for process in set(multiprocessing.active_children()) - others:
            process.terminate()
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def in_pool(
    pool: ProcessPoolExecutor,
    jobs: int,
    run: Callable[[int], ChunkResult],
    firsts: list[int],
    interruption: Interruption,
) -> Generator[ChunkResult, None, None]:
    """Chunks that begin at `firsts`, in the order in which they end. After a failure only the chunks before it are
    waited for."""
    todo, running, bad = iter(firsts), dict[Future[ChunkResult], int](), None
    while True:
        while len(running) < 2 * jobs and (bad is None) and (first := next(todo, None)) is not None:
            running[pool.submit(run, first)] = first
        waited = [future for future, first in running.items() if bad is None or first < bad]
        if not waited:
            return
        ended: set[Future[ChunkResult]] = set()
        while not ended:
            interruption.check()
            ended, _ = wait(waited, _LOOK_EVERY_S, return_when=FIRST_COMPLETED)
        for future in ended:
            chunk, first = future.result(), running.pop(future)
            if chunk.failure is not None:
                bad = first if bad is None else min(bad, first)
            yield chunk


def _in_processes(
    prey: Prey, firsts: list[int], jobs: int, machines: Machines, interruption: Interruption
) -> Generator[ChunkResult, None, None]:
    with processes(jobs) as pool:
        yield from in_pool(pool, jobs, partial(run_chunk, prey, machines=machines), firsts, interruption)


def _begin_process(parent: int) -> None:
    """Ctrl-C is the parent's to handle; a parent that is gone needs no more results."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for number in (signal.SIGTERM, getattr(signal, "SIGHUP", signal.SIGTERM)):
        signal.signal(number, signal.SIG_DFL)
    with contextlib.suppress(OSError, AttributeError):
        die_with_parent(parent)


def _result(firsts: list[int], store: ChunkStore) -> Found:
    coverage = Coverage()
    for first in firsts:
        chunk = store.done[first]
        coverage.merge(chunk.coverage)
        if chunk.failure is not None:
            return Found(coverage, chunk.failed, chunk.failure)
    return Found(coverage)
