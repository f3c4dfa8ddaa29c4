"""The keys of a scenario file, but for its faults: names, types and defaults. docs/scenario.md explains each."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from testbed.reading.fields import (
    BoolKey,
    DurationKey,
    HostNameKey,
    NamesKey,
    ProbabilityKey,
    Section,
    SizeKey,
    SomeNamesKey,
    TextKey,
    WordKey,
    choice,
    floats_as_integers,
    number_above_zero,
    number_or_auto,
    whole,
    whole_or,
    whole_or_list,
)
from testbed.scenario import names
from topologies import MAX_RACK_HOSTS, MAX_RANKS
from workloads.atp.priority import LEAST_X0, MOST_X0

__all__ = [
    "ComputeKeys",
    "JobEntryKeys",
    "JobKeys",
    "LayerKeys",
    "ScenarioKeys",
    "SharedJobKeys",
    "StragglerKeys",
]


class ScenarioKeys(Section):
    """Top level. The sections are checked one by one, so that all problems of a file are found."""

    name: WordKey
    description: TextKey = ""
    seed: Annotated[int, whole(0, (1 << 63) - 1)] = 1
    world: Annotated[str, choice(names.WORLDS)] = "emulated"
    topology: Any = Field(...)
    switch: Any = None
    transport: Any = None
    job: Any = None
    jobs: Any = None
    routing: Any = None
    clocks: Any = None
    nics: Any = None
    faults: Any = None
    background: Any = None
    time_limit: DurationKey = 60_000_000_000
    capture: BoolKey = True
    trace: BoolKey = False
    dilation: Annotated[int | None, whole_or("auto", None, 1, names.MOST_DILATION)] = 1
    expect: Annotated[str, choice(names.EXPECTATIONS)] = "pass"


class StragglerKeys(Section):
    rank: Annotated[int, whole(0, MAX_RANKS - 1)]
    delay: DurationKey | None = None
    slowdown: Annotated[float | None, number_above_zero(1000)] = None


class ComputeKeys(Section):
    """`compute` of a job. Either a ratio or both times; neither where the layers bring times of their own."""

    ratio: Annotated[float | None, number_above_zero(1000)] = None
    forward: DurationKey | None = None
    backward: DurationKey | None = None
    jitter: ProbabilityKey = 0.0


class LayerKeys(Section):
    """`layers[n]` of a job: a row of its CSV."""

    layer: TextKey
    elements: Annotated[int | tuple[int, ...], whole_or_list(1, 1 << 32)]
    forward: DurationKey = 0
    backward: DurationKey = 0


class SharedJobKeys(Section):
    """What one job and each of several have."""

    workload: Annotated[str, choice(names.WORKLOADS)] = "synthetic"
    size: SizeKey = 1_000_000
    model: TextKey | None = None
    layers: Any = None
    scale: Annotated[int, whole(1, 1_000_000)] = 1000
    compute: Any = None
    dtype: Annotated[str, choice(names.DTYPES)] = "float32"
    iterations: Annotated[int, whole(1, 1_000_000)] = 1
    window_packets: Annotated[int, whole(1, 1 << 15)] = 64
    straggler: Any = None
    hosts: NamesKey = ()
    arrival: DurationKey = 0
    server: HostNameKey = ""
    quantisation: Annotated[float | None, floats_as_integers()] = None
    priority: TextKey = "esa-default"
    priority_x0: Annotated[float | None, number_or_auto(LEAST_X0, MOST_X0)] = None


class JobEntryKeys(SharedJobKeys):
    """`jobs[n]`. What is not given is as in `job`."""

    name: WordKey | None = None
    id: Annotated[int, whole(1, names.MOST_JOBS)] = 0
    hosts: SomeNamesKey = ()
    workers: Annotated[int | None, whole(2, MAX_RACK_HOSTS)] = None
    seed_offset: Annotated[int, whole(0, 1 << 20)] = 0


class JobKeys(SharedJobKeys):
    collective: Annotated[str, choice(names.COLLECTIVES)] = "netreduce"
    op: Annotated[str, choice(names.OPS)] = "sum"
    message_packets: Annotated[int, whole(1, 1024)] = 170
    window_messages: Annotated[int, whole(1, 16384)] = 2
    copies: Annotated[int, whole(1, MAX_RANKS)] = 1
    credit: Annotated[str, choice(names.CREDITS)] = "both"
    hello: BoolKey = True
    fallback: Annotated[str, choice(names.FALLBACKS)] = "none"
    pipelined: BoolKey = True
