"""A guided hunt: runs generations of schedules, and makes each out of what the ones before it met.

The result does not depend on the number of processes: a generation is complete before the corpus learns from it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Generator
from dataclasses import dataclass, replace
from functools import partial

from testbed.hunt.behaviour import behaviours_of, marks_of_kind
from testbed.hunt.corpus import Corpus, Met
from testbed.hunt.coverage import Coverage
from testbed.hunt.judge import OURS, Machines, judge_and_keep
from testbed.hunt.mutation import generations, next_genome
from testbed.hunt.runner import Found, Prey, in_pool, processes
from testbed.hunt.schedule import Schedule
from testbed.hunt.state import ChunkResult, ChunkStore
from testbed.hunt.tape import Genome, TapeDice
from testbed.kernel.garbage import spared
from testbed.kernel.interruption import Interruption

__all__ = ["label_of", "run_guided"]

_CHUNK = 4
"""schedules that one process runs at a time"""
_TWICE_EVERY, _TWICE = 32, 4
"""One schedule of 32 also runs without its trace, and this is its place. Not the first, since most bugs fail early.
Random hunts compare all traced schedules."""


@dataclass(frozen=True, slots=True)
class _Generation:
    """Schedules that are run before the corpus learns again."""

    prey: Prey
    begin: int
    genomes: tuple[Genome, ...]
    machines: Machines

    @property
    def firsts(self) -> list[int]:
        return list(range(self.begin, self.begin + len(self.genomes), _CHUNK))

    def run(self, first: int, check: Callable[[], None] = lambda: None) -> ChunkResult:
        """One chunk. Calls `check` before each schedule. One in `_TWICE_EVERY` also runs without its trace."""
        coverage, met, marks = Coverage(), list[Met](), marks_of_kind(self.prey.hunted)
        last = min(first + _CHUNK, self.begin + len(self.genomes))
        for number in range(first, last):
            check()
            genome = self.genomes[number - self.begin]
            schedule, used = _drawn(self.prey, genome, number)
            twice = number % _TWICE_EVERY == _TWICE
            failure, counts, history = judge_and_keep(schedule, self.machines, twice=twice)
            coverage.merge(counts)
            if failure is not None:
                return ChunkResult(first, last - first, coverage, number, failure, tuple(met))
            met.append(Met(used, len(history), tuple(behaviours_of(history, marks))))
        return ChunkResult(first, last - first, coverage, met=tuple(met))


def _drawn(prey: Prey, genome: Genome, number: int) -> tuple[Schedule, int]:
    """With the number of words that it was drawn from."""
    dice = TapeDice(genome)
    return prey.drawn(dice, number), dice.used


def _again(prey: Prey, genome: Genome, number: int) -> Schedule:
    schedule, _ = _drawn(prey, genome, number)
    return schedule


def label_of(prey: Prey) -> str:
    """Names a hunt to its dice: hunts of other kinds and seeds draw other schedules."""
    return " ".join(filter(None, (prey.hunted, prey.recovery, str(prey.seed))))


def run_guided(
    prey: Prey,
    jobs: int,
    store: ChunkStore,
    tell: Callable[[int], None] = lambda done: None,
    machines: Machines = OURS,
) -> tuple[Found, Corpus]:
    """As `run_hunt`, with what was learnt."""
    corpus, coverage, label = Corpus(), Coverage(), label_of(prey)
    done = sum(chunk.count for chunk in store.done.values())
    tell(done)
    with Interruption() as interruption, spared(), contextlib.ExitStack() as stack:
        pool = stack.enter_context(processes(jobs)) if jobs > 1 else None
        for numbers in generations(prey.schedules):
            begin = numbers.start
            genomes = tuple(next_genome(corpus, label, number) for number in numbers)
            generation = _Generation(prey, begin, genomes, machines)
            missing = _missing(generation, store)
            chunks = (
                _here(generation, missing, interruption)
                if pool is None
                else in_pool(pool, jobs, generation.run, missing, interruption)
            )
            with contextlib.closing(chunks):
                for chunk in chunks:
                    store.add(replace(chunk, met=tuple(corpus.without_common(met) for met in chunk.met)))
                    interruption.check()
                    done += chunk.count
                    tell(done)
            met = list[Met]()
            for first in generation.firsts:
                chunk = store.done[first]
                coverage.merge(chunk.coverage)
                met += chunk.met
                if chunk.failed is not None:
                    genome = genomes[chunk.failed - begin]
                    again = partial(_again, prey, genome, chunk.failed)
                    return Found(coverage, chunk.failed, chunk.failure, again), corpus
            corpus.learn(begin, list(zip(genomes, met, strict=True)))
    return Found(coverage), corpus


def _missing(generation: _Generation, store: ChunkStore) -> list[int]:
    """Chunks that are not done, up to the first one that failed."""
    missing = list[int]()
    for first in generation.firsts:
        if first not in store.done:
            missing.append(first)
        elif store.done[first].failure is not None:
            break
    return missing


def _here(generation: _Generation, firsts: list[int], interruption: Interruption) -> Generator[ChunkResult, None, None]:
    """Up to the first that fails."""
    for first in firsts:
        chunk = generation.run(first, interruption.check)
        yield chunk
        if chunk.failure is not None:
            return
