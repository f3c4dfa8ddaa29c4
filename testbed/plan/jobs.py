"""The jobs of a scenario, with what every protocol needs of them: hosts, workloads, and the members that a switch
knows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from switch_nodes.config import SwitchConfig
from switch_nodes.jobs import JobMember, TreeChild, TreeLinks
from testbed.plan.lookups import lookup_of
from testbed.scenario.keys.stages import block_elements, stage_elements
from testbed.scenario.model import Compute, Job, Scenario
from testbed.scenario.protocols.known import protocol_of
from topologies import Node, Topology
from topologies.routing import Junction
from workloads.collectives.held import given, kept
from workloads.collectives.operations import BARRIER, OPERATIONS
from workloads.config import DIGEST_DELAY_NS, ArithmeticSpec, WorkloadConfig
from workloads.layers import ComputeConfig, LayerConfig
from workloads.models import layer_times, scaled_layers, single_layer
from workloads.uc import UC_FRAME_BYTES, UC_MESSAGE_BYTES
from workloads.wire.aggregation import AGGREGATION_OVERHEAD_BYTES

__all__ = [
    "FIRST_JOB",
    "SERVICE_IP",
    "SERVICE_MAC",
    "PlannedJob",
    "communication_ns",
    "job_members",
    "plan_jobs",
    "ranks_by_switch",
    "switch_member",
    "switch_of",
    "tree_links",
]

FIRST_JOB = 1
SERVICE_IP = bytes((10, 77, 255, 1))
SERVICE_MAC = bytes.fromhex("02494e41ff01")
"""of the aggregation service of a switch: behind all addresses that hosts get"""
_ELEMENT_BYTES = 4
_DRAWN = ("synthetic", "extreme", "special")
_AHEAD_BYTES = 8 << 20
"""of gradients in the memory of each worker"""
_PARTS_FORWARD = 3
"""a backward pass computes two gradients where a forward pass computes one value: it takes two parts of three"""
_SEEDS, _SEEDS_APART = 1 << 63, 0x9E3779B97F4A7C15


@dataclass(frozen=True, slots=True)
class PlannedJob:
    number: int
    """its id on the wire"""
    job: Job
    hosts: tuple[Node, ...]
    """rank order"""
    workloads: tuple[WorkloadConfig, ...]
    """rank order"""
    server: Node | None
    """the host of its parameter server, where the scenario names one"""

    @property
    def arithmetic(self) -> ArithmeticSpec:
        """What switches add. Words that only move must keep their bits, so they travel as integers among zeros."""
        if _is_in_zeros(self.job) and not OPERATIONS[self.job.operation].sums:
            return ArithmeticSpec("sum", "int32")
        return ArithmeticSpec(self.job.op, self.job.dtype)


def plan_jobs(scenario: Scenario) -> tuple[PlannedJob, ...]:
    """In the order of the scenario. Gradients of different jobs differ."""
    topology = scenario.topology
    planned = []
    for index, job in enumerate(scenario.all_jobs):
        hosts = tuple(map(topology.node, job.hosts)) or scenario.ranks
        planned.append(
            PlannedJob(
                number=FIRST_JOB + index if job.number is None else job.number,
                job=job,
                hosts=hosts,
                workloads=tuple(_workload(scenario, job, hosts, rank) for rank in range(len(hosts))),
                server=topology.node(job.server) if job.server else None,
            )
        )
    return tuple(planned)


def _is_in_zeros(job: Job) -> bool:
    """Whether an all-reduce of whole vectors stands for another operation."""
    return protocol_of(job.protocol).sends_zeros(job.operation)


def _workload(scenario: Scenario, job: Job, hosts: Sequence[Node], rank: int) -> WorkloadConfig:
    sizes = _layer_sizes(scenario, job, len(hosts))
    workload = _of_sizes(scenario, job, hosts, rank, sizes)
    if not _is_in_zeros(job):
        return workload
    if job.operation == BARRIER or not sum(sizes):
        # One element stands for none: a rank must know when the others have begun.
        return replace(_of_sizes(scenario, job, hosts, rank, (1,)), given=(0, 0), kept=(0, 0))
    place = job.operation, rank, len(hosts), sum(sizes), job.root
    return replace(workload, given=given(*place), kept=kept(*place))


def _of_sizes(scenario: Scenario, job: Job, hosts: Sequence[Node], rank: int, sizes: Sequence[int]) -> WorkloadConfig:
    return WorkloadConfig(
        kind=job.workload,
        seed=(scenario.seed + job.seed_offset * _SEEDS_APART) % _SEEDS,
        elements=sum(sizes),
        iterations=job.iterations,
        straggle_ns=job.straggle_ns if rank == job.straggle_rank else 0,
        arrival_ns=job.arrival_ns,
        compute=_compute(scenario, job, hosts, sizes, job.straggle_factor if rank == job.straggle_rank else 1.0),
        digest_delay_ns=DIGEST_DELAY_NS // (scenario.dilation or 1),
        drawn_ahead=_drawn_ahead(scenario, job, sum(sizes)),
        in_place=job.in_place,
    )


def _drawn_ahead(scenario: Scenario, job: Job, elements: int) -> int:
    """In virtual time drawing takes none, and what trains draws nothing."""
    if scenario.world == "simulated" or job.workload not in _DRAWN:
        return 0
    return min(job.iterations - 1, _AHEAD_BYTES // max(1, elements * _ELEMENT_BYTES))


def _layer_sizes(scenario: Scenario, job: Job, ranks: int) -> tuple[int, ...]:
    """Elements that are sent, forward order; of stages the last one first, which is how the gradient then holds
    them."""
    if job.stages is not None:
        return stage_elements(job.stages.stages(ranks), ranks, block_elements(scenario.transport))[::-1]
    if job.model is not None:
        return scaled_layers(job.model, job.scale, scenario.transport.path_mtu // _ELEMENT_BYTES)
    if job.workload != "digits":
        # What moves vectors moves words: as RoCE does, it pads the last one.
        return (-(-job.size_bytes // _ELEMENT_BYTES),)
    from workloads.gradients import digits_elements  # it brings NumPy along

    return (digits_elements(),)


def _compute(
    scenario: Scenario, job: Job, hosts: Sequence[Node], sizes: Sequence[int], slowdown: float
) -> ComputeConfig | None:
    """None: nothing is computed, and the gradient has no layers."""
    if job.stages is not None:
        stages = reversed(job.stages.stages(len(hosts)))
        own = (LayerConfig(size, 0, stage.compute_ns) for size, stage in zip(sizes, stages, strict=True))
        return ComputeConfig(tuple(own), slowdown=slowdown, in_stages=True)
    model, compute = job.model or single_layer(sum(sizes)), job.compute or Compute()
    if job.model is None and job.compute is None:
        return None
    forward_ns, backward_ns = model.forward_ns, model.backward_ns
    if compute.ratio is not None:
        total = round(compute.ratio * communication_ns(scenario, hosts, sum(sizes)))
        forward_ns = total // _PARTS_FORWARD
        backward_ns = total - forward_ns
    elif compute.forward_ns is not None and compute.backward_ns is not None:
        forward_ns, backward_ns = compute.forward_ns, compute.backward_ns
    times = layer_times(model, forward_ns, backward_ns)
    layers = (LayerConfig(size, *both) for size, both in zip(sizes, times, strict=True))
    return ComputeConfig(tuple(layers), compute.jitter, slowdown)


def communication_ns(scenario: Scenario, hosts: Iterable[Node], elements: int) -> int:
    """How long a gradient takes on the slowest link of these hosts when nothing else is on it: full datagrams, or
    messages, once."""
    rate = min(link.shape.rate_bps for host in hosts for _, link, _ in scenario.topology.ports(host.name))
    transport, frame_bytes = scenario.transport, _ELEMENT_BYTES * elements
    packets = -(-frame_bytes // transport.path_mtu)
    if transport.framing == "uc":
        frame_bytes += packets * UC_FRAME_BYTES + -(-packets // transport.uc_packets) * UC_MESSAGE_BYTES
    else:
        frame_bytes += packets * AGGREGATION_OVERHEAD_BYTES
    return 8 * frame_bytes * 1_000_000_000 // rate


def job_members(switch: SwitchConfig, hosts: Iterable[Node]) -> tuple[JobMember, ...]:
    """Those that the switch knows a single port to; ranks count in the order of `hosts`."""
    ports = dict(switch.macs)
    return tuple(
        JobMember(rank, host.mac, host.ip, ports[host.mac]) for rank, host in enumerate(hosts) if host.mac in ports
    )


def switch_member(switch: SwitchConfig, rank: int, host: Node) -> JobMember:
    """A host as a switch knows it, whether there is one port to it or several equal ones."""
    return JobMember(rank, host.mac, host.ip, lookup_of(switch).port_to(host.mac))


def ranks_by_switch(topology: Topology, hosts: Iterable[Node]) -> Mapping[str, tuple[int, ...]]:
    """Ranks by the switch that their hosts are at, in the order of their first ranks."""
    racks: dict[str, list[int]] = {}
    for rank, host in enumerate(hosts):
        racks.setdefault(switch_of(topology, host), []).append(rank)
    return {switch: tuple(ranks) for switch, ranks in racks.items()}


def switch_of(topology: Topology, host: Node) -> str:
    """Name of the first switch that a host is at."""
    (_, link, _), *_ = topology.ports(host.name)
    return link.b if link.a == host.name else link.a


def tree_links(topology: Topology, hosts: Sequence[Node], switch: str, junction: Junction) -> TreeLinks:
    """A switch's place in a tree. `hosts`: those that it leads to the root, in rank order."""
    at = {host.name: rank for rank, host in enumerate(hosts)}
    ends = {port: link.a if link.b == switch else link.b for port, link, _ in topology.ports(switch)}
    children = tuple(
        TreeChild(port, sum(1 << rank for rank in ranks), at.get(ends[port], -1))
        for port, ranks in junction.below.items()
    )
    is_last = junction.above in {host.name for host in topology.hosts}
    return TreeLinks(junction.up, is_last, children)
