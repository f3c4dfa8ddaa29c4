"""What `tb bench ina` runs: the built-in sweeps `ina-MIX`, one for each mix of jobs, over switch memory."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import cached_property

from testbed.scenario import parse_scenario
from testbed.scenario.model import Job
from testbed.sweeps.loader import load_sweep
from testbed.sweeps.scenario_loader import SweepWords
from testbed.sweeps.scenario_model import Point, ScenarioSweep
from testbed.sweeps.scenario_points import make_points

__all__ = ["ATP", "ESA", "ESA_ACK", "ESA_EQUAL", "MEMORY_KEY", "SWITCHML", "InaCase", "cases_of", "emulated_case"]

MEMORY_KEY = "switch.memory"
"""values stored in the switch"""
SWITCHML, ATP, ESA = "switchml", "atp", "esa"
ESA_EQUAL, ESA_ACK = "esa equal early", "esa prio ack"
"""They have one of ESA's mechanisms each: early release without priorities, priorities with release by the server's
result. The rule of priority is that of `esa`, so that nothing else differs."""
_MIXES = {"mix-2+2": "ina-mix-2-2", "mix-8": "ina-mix-8", "same-4": "ina-same-4"}
"""mix -> its sweep"""
_QUICK_MIX, _QUICK_SIZES, _QUICK_SEEDS = "mix-2+2", (8, 32, 96, 960), 2
_SLOW = (
    "topology.link.rate=1Mbps", "topology.link.delay=88ms", "transport.rto=4s", "job.window_packets=48",
)  # fmt: skip
"""Slow enough for two cores that run 21 nodes. Hops take ten packets' time, and windows are twice as large. After idle
times the kernel's token buckets let two frames through at once (docs/emulation.md), which must not be much of a hop."""
_SLOW_SIZES = (64, 1920)


@dataclass(frozen=True)
class InaCase:
    """One mix of jobs."""

    mix: str
    sweep: ScenarioSweep

    @cached_property
    def points(self) -> list[Point]:
        return make_points(self.sweep)

    @cached_property
    def jobs(self) -> tuple[Job, ...]:
        """Of any run: all have the same."""
        return parse_scenario(self.points[0].text, self.sweep.name).all_jobs

    @property
    def subjects(self) -> tuple[str, ...]:
        """What is compared: protocols with their knobs."""
        return tuple(variant.label for variant in self.sweep.variants)

    @property
    def windows(self) -> int:
        """SW: the sum of the windows of all jobs, in packets. A block's packets share one slot, so that a job can use
        as many slots as a worker has packets outstanding."""
        return sum(job.window_packets for job in self.jobs)

    @property
    def is_mixed(self) -> bool:
        """Jobs differ, so that a priority can distinguish them."""
        return len({words_of(job) for job in self.jobs}) > 1

    def slots(self, subject: str, memory: int) -> int:
        """That the memory makes, of all jobs together: SwitchML has a shadow copy of each."""
        jobs = len(self.jobs)
        return memory // (2 * jobs) * jobs if subject == SWITCHML else memory


def words_of(job: Job) -> str:
    """Model, and computing / communication."""
    assert job.model is not None
    assert job.compute is not None
    return f"{job.model.name} ({job.compute.ratio:g})"


def cases_of(*, quick: bool = False, seeds: int | None = None) -> list[InaCase]:
    """In virtual time. `quick`: one mix, and few sizes."""
    if not quick:
        return [InaCase(mix, _sweep(name, SweepWords(seeds=seeds))) for mix, name in _MIXES.items()]
    words = SweepWords([(MEMORY_KEY, list(_QUICK_SIZES))], seeds=seeds or _QUICK_SEEDS)
    return [InaCase(_QUICK_MIX, _sweep(_MIXES[_QUICK_MIX], words))]


def emulated_case(*, quick: bool, seeds: int) -> InaCase:
    """A few points in both worlds, with the same links."""
    sizes = list(_SLOW_SIZES[:1] if quick else _SLOW_SIZES)
    words = SweepWords([(MEMORY_KEY, sizes)], seeds=seeds, worlds=["simulated", "emulated"], overrides=_SLOW)
    found = _sweep(_MIXES[_QUICK_MIX], words)
    return InaCase(_QUICK_MIX, replace(_only(found, {SWITCHML, ATP, ESA}), name=f"{found.name}-emulated"))


def _only(sweep: ScenarioSweep, labels: Collection[str]) -> ScenarioSweep:
    return replace(sweep, variants=tuple(variant for variant in sweep.variants if variant.label in labels))


def _sweep(name: str, words: SweepWords) -> ScenarioSweep:
    found = load_sweep(name, words)
    assert isinstance(found, ScenarioSweep), "the built-in file varies scenarios"
    return found
