"""The keys of a scenario file, but for its faults: names, types and defaults. docs/scenario.md explains each."""

from __future__ import annotations

import re
from typing import Annotated, Any

from pydantic import Field

from testbed.reading.fields import (
    AggregationKey,
    BandwidthKey,
    BoolKey,
    DriftKey,
    DurationKey,
    HostNameKey,
    NamesKey,
    NodeNameKey,
    ProbabilityKey,
    ScaledDurationKey,
    ScaledRateKey,
    ScaledSizeKey,
    Section,
    ServersKey,
    SizeKey,
    SomeNamesKey,
    TextKey,
    WordKey,
    choice,
    even,
    floats_as_integers,
    number_above_zero,
    number_or_auto,
    share,
    whole,
    whole_or,
    whole_or_list,
)
from testbed.scenario import names
from topologies import MAX_HOSTS, MAX_PORTS, MAX_RACK_HOSTS, MAX_RANKS
from workloads.atp.priority import LEAST_X0, MOST_X0
from workloads.switchml.uc_mapping import MOST_UC_PACKETS
from workloads.wire import PSN_MASK

__all__ = [
    "LINK_LIST",
    "NODE_LIST",
    "TWO_ENDS",
    "BackgroundKeys",
    "CableKeys",
    "ClockKeys",
    "ComputeKeys",
    "CustomKeys",
    "DcqcnKeys",
    "FatTreeKeys",
    "GridTriangleKeys",
    "JobEntryKeys",
    "JobKeys",
    "KnobKeys",
    "LayerKeys",
    "LinkKeys",
    "LinkOverrideKeys",
    "MachinesKeys",
    "NodeKeys",
    "RackAcceleratorKeys",
    "RackKeys",
    "RoutingKeys",
    "ScenarioKeys",
    "SharedJobKeys",
    "SpineLeafKeys",
    "StragglerKeys",
    "SwitchKeys",
    "TransportKeys",
]

PROGRAM_FILE = re.compile(r"[^:\s]+\.py:[A-Za-z_][A-Za-z0-9_]*\Z")
"""a program of the user's own: `path.py:Class`"""

NODE_LIST = "a list, as [{name: h1, role: host}, ...]"
LINK_LIST = "a list, as [{ends: [h1, s1]}, ...]"
TWO_ENDS = "the names of two nodes, as [h1, s1]"

Mtu = Annotated[int, whole(256, 9000, " (bytes of the largest IP packet)")]
Queue = Annotated[int, whole(1, 1_000_000, " (packets)")]
EcnThreshold = Annotated[int | None, whole_or("none", None, 1, 999_999, " (packets)")]


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


class LinkKeys(Section):
    """`topology.link`: the shape of every link."""

    rate: BandwidthKey = 100_000_000
    delay: DurationKey = 0
    jitter: DurationKey = 0
    mtu: Mtu = 1500
    queue: Queue = 1000
    ecn_threshold: EcnThreshold = None


class LinkOverrideKeys(Section):
    """`topology.links.NAME`: what is different on one link."""

    rate: BandwidthKey | None = None
    delay: DurationKey | None = None
    jitter: DurationKey | None = None
    mtu: Mtu | None = None
    queue: Queue | None = None
    ecn_threshold: EcnThreshold = None


class RackKeys(Section):
    kind: Annotated[str, choice(["rack"])]
    hosts: Annotated[int, whole(2, MAX_RACK_HOSTS)]
    link: Any = None
    links: Any = None


class RackAcceleratorKeys(Section):
    """`accelerator_link`: what is different on the links between the commodity switch and the accelerator."""

    kind: Annotated[str, choice(["rack_accelerator"])]
    hosts: Annotated[int, whole(2, MAX_HOSTS)]
    accelerator_ports: Annotated[int, whole(1, MAX_PORTS - MAX_HOSTS)] = 2
    link: Any = None
    accelerator_link: Any = None
    links: Any = None


class ClockKeys(Section):
    offset: DurationKey = 0
    drift: DriftKey = 0


class SpineLeafKeys(Section):
    """`uplink`: what is different on the links from leaf to spine. Either it has a rate, or `oversubscription` gives one."""

    kind: Annotated[str, choice(["spine_leaf"])]
    leaves: Annotated[int, whole(2, 32)]
    spines: Annotated[int, whole(1, 32)]
    hosts_per_leaf: Annotated[int | tuple[int, ...], whole_or_list(1, 32)]
    oversubscription: Annotated[float | None, number_above_zero(1000)] = None
    link: Any = None
    uplink: Any = None
    links: Any = None


class FatTreeKeys(Section):
    """`uplink`: what is different from edge to aggregation; `core`: what is different again from there to the core."""

    kind: Annotated[str, choice(["fat_tree"])]
    k: Annotated[int, even(2, 6)]
    link: Any = None
    uplink: Any = None
    core: Any = None
    links: Any = None


class MachinesKeys(Section):
    """`link`: inside a machine; `uplink`: what is different on the one link (the NIC) that leaves a machine."""

    kind: Annotated[str, choice(["machines"])]
    machines: Annotated[int, whole(2, 32)]
    workers_per_machine: Annotated[int, whole(1, 32)]
    link: Any = None
    uplink: Any = None
    links: Any = None


class GridTriangleKeys(Section):
    """`server_link`: what is different on the parameter server's link."""

    kind: Annotated[str, choice(["grid_triangle"])]
    link: Any = None
    server_link: Any = None
    links: Any = None


class CustomKeys(Section):
    """Node by node, link by link; `link` holds what the links have in common."""

    kind: Annotated[str, choice(["custom"])]
    nodes: Any = Field(..., description=NODE_LIST)
    link: Any = None
    links: Any = Field(..., description=LINK_LIST)


class NodeKeys(Section):
    """`topology.nodes[n]` of a custom topology."""

    name: NodeNameKey
    role: Annotated[str, choice(names.NODE_ROLES)]


class CableKeys(LinkOverrideKeys):
    """`topology.links[n]` of a custom topology."""

    ends: Any = Field(..., description=TWO_ENDS)


class SwitchKeys(Section):
    program: Annotated[str, choice(names.PROGRAMS, or_form=PROGRAM_FILE)] = "netreduce"
    release: Annotated[str, choice(names.RELEASES)] = "order"
    gate: Annotated[str, choice(names.GATES)] = "window"
    commodity: Annotated[str, choice(names.COMMODITY_KINDS)] = "soft"
    memory: Annotated[int, whole(1, 1 << 16, " (values)")] = 256
    knobs: Any = None


class KnobKeys(Section):
    """`switch.knobs`: of programs atp and esa."""

    preempt: BoolKey = True
    age: Annotated[str, choice(names.AGES)] = "none"
    free: Annotated[str, choice(names.FREES)] = "early"
    ps_copy: BoolKey = True
    reminder: BoolKey = True
    reclaim: BoolKey = True


class TransportKeys(Section):
    path_mtu: Annotated[int, choice(names.PATH_MTUS)] = 1024
    verb: Annotated[str, choice(names.VERBS)] = "write"
    timeout: Annotated[int, whole(0, 31, " (4.096 us x 2^n; 0: never)")] = 15
    retry_count: Annotated[int, whole(0, 7)] = 7
    rnr_retry: Annotated[int, whole(0, 7, " (7: for ever)")] = 7
    rnr_timer: Annotated[int, whole(0, 31)] = 12
    ack_every: Annotated[int, whole(1, 1024)] = 16
    start_psn: Annotated[int | None, whole_or("random", None, 0, PSN_MASK)] = None
    receive_late: DurationKey = 0
    rto: DurationKey = 10_000_000
    framing: Annotated[str, choice(names.FRAMINGS)] = "udp"
    uc_packets: Annotated[int, whole(1, MOST_UC_PACKETS, " (packets of a message)")] = 1
    aimd: BoolKey = True
    congestion_control: Annotated[str, choice(names.CONGESTION_CONTROLS)] = "none"
    dcqcn: Any = None


class DcqcnKeys(Section):
    """`transport.dcqcn`. `scaled`: from the published parameters and the rate of the sender's link."""

    time_scale: Annotated[float | None, number_or_auto(1e-6, 1e6)] = None
    gain: Annotated[float, share()] = 1 / 256
    alpha_timer: ScaledDurationKey = None
    increase_timer: ScaledDurationKey = None
    byte_counter: ScaledSizeKey = None
    cnp_interval: ScaledDurationKey = None
    cut_period: ScaledDurationKey = None
    additive_increase: ScaledRateKey = None
    hyper_increase: ScaledRateKey = None
    min_rate: ScaledRateKey = None
    burst: ScaledDurationKey = None
    recovery_steps: Annotated[int, whole(1, 1000)] = 5


class BackgroundKeys(Section):
    """`background[n]`"""

    kind: Annotated[str, choice(names.BACKGROUND_KINDS)]
    name: WordKey | None = None
    source: TextKey = Field(alias="from")
    target: TextKey = Field(alias="to")
    rate: BandwidthKey | None = None
    start: DurationKey = 0
    stop: DurationKey | None = None
    size: SizeKey | None = None
    payload: Annotated[int, whole(18, 8900, " (bytes of a datagram)")] = 1000
    ecn: BoolKey = False


class RoutingKeys(Section):
    """`routing`: what `tb route` plans. `capacity`: of every switch; `capacities`: of single ones, by name."""

    servers: ServersKey
    planner: Annotated[str, choice(names.PLANNERS)] = "grid"
    workers: NamesKey = ()
    capacity: AggregationKey = 0
    capacities: Any = None
    demand: AggregationKey = 0
    mode: Annotated[str, choice(names.RATE_MODES)] = "aimd"
    pace: Annotated[float, number_above_zero(10)] = 1.0
    on_collision: Annotated[str, choice(names.ON_COLLISION)] = "drop"
    bucket: DurationKey = 10_000_000
    react: DurationKey = 50_000_000
    sample: DurationKey = 0


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
