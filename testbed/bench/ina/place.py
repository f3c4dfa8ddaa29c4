"""The network on which all are compared, and one point as a scenario."""

from __future__ import annotations

from dataclasses import dataclass, replace

from testbed.bench.ina.subjects import MIXES, Mix, Subject
from testbed.scenario.known import traits_of
from testbed.scenario.model import Compute, Job, Scenario, SwitchOptions, Transport
from topologies import LinkShape, rack
from workloads.models import create_model

__all__ = ["EMULATED", "SIMULATED", "Place", "Point"]


@dataclass(frozen=True, slots=True)
class Place:
    """A star: the workers of all jobs, one parameter server for each job (idle where the protocol has none), links that
    are all equal. No loss, and no ECN: windows are never cut."""

    rate_bps: int
    delay_ns: int
    """delay of each hop: five packets' time"""
    rto_ns: int
    world: str = "simulated"
    workers: int = 4
    """workers of each job"""
    window: int = 24
    """packets: what the way through the parameter server holds, four hops of six packets' time each"""
    scale: int = 1000
    """divisor of the models"""
    iterations: int = 2
    jitter: float = 0.05
    """jitter of computing"""

    def setting(self) -> str:
        """In words, all that makes runs of two places different."""
        return (
            f"{self.world}, {self.rate_bps} bit/s, {self.delay_ns} ns, rto {self.rto_ns} ns, {self.workers} workers, "
            f"window {self.window}, models / {self.scale}, {self.iterations} iterations, jitter {self.jitter:g}"
        )

    def windows(self, mix: Mix) -> int:
        """SW: the sum of the windows of all jobs, in packets. A block's packets share one slot, so that a job can use
        as many slots as a worker has packets outstanding."""
        return self.window * len(mix.jobs)


SIMULATED = Place(100_000_000, 440_000, 20_000_000)
EMULATED = Place(1_000_000, 88_000_000, 4_000_000_000, world="emulated", window=48)
"""Slow enough for two cores that run 21 nodes. Hops take ten packets' time, and windows are twice as large. After idle
times the kernel's token buckets let two frames through at once (docs/emulation.md), which must not be much of a hop."""


@dataclass(frozen=True, slots=True)
class Point:
    """One run."""

    place: Place
    mix: str
    subject: Subject
    memory: int
    """values stored in the switch"""
    seed: int
    repeat: int = 1
    """number of the repeat; in real time the same seed may take another time, in virtual time there is one run"""

    def indices(self) -> int:
        """Slots that the memory makes: of all jobs together."""
        jobs, each = len(MIXES[self.mix].jobs), self.subject.values_per_index
        return self.memory if each == 1 else self.memory // (each * jobs) * jobs

    def scenario(self) -> Scenario:
        place, subject, mix = self.place, self.subject, MIXES[self.mix]
        shape = LinkShape(place.rate_bps, place.delay_ns)
        topology = rack(len(mix.jobs) * (place.workers + 1), shape)
        names = [host.name for host in topology.hosts]
        servers = (
            names[len(mix.jobs) * place.workers :] if traits_of(subject.program).has_server else [""] * len(mix.jobs)
        )
        common = Job(
            collective=subject.program, dtype="int32", iterations=place.iterations, window_packets=place.window,
            scale=place.scale, priority=subject.priority,
        )  # fmt: skip
        jobs = tuple(
            replace(
                common,
                name=f"{part.model}-{number + 1}",
                number=number + 1,
                hosts=tuple(names[number * place.workers : (number + 1) * place.workers]),
                model=create_model(part.model),
                compute=Compute(ratio=part.ratio, jitter=place.jitter),
                server=servers[number],
                seed_offset=number,
            )
            for number, part in enumerate(mix.jobs)
        )
        return Scenario(
            name=f"bench-ina-{self.mix.replace('+', '-')}-{subject.name.replace(' ', '-')}",
            topology=topology,
            link=shape,
            seed=self.seed,
            world=place.world,
            transport=Transport(rto_ns=place.rto_ns),
            switch=SwitchOptions(program=subject.program, memory=self.memory, knobs=subject.knobs),
            job=common,
            jobs=jobs,
            capture=False,
            time_limit_ns=600_000_000_000,
        )
