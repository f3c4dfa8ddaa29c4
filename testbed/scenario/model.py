"""A scenario as one frozen value: what `testbed.scenario.load_scenario` makes of a YAML file. Units stand in the
names."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Annotated

from testbed.faults.model import Fault
from testbed.reading.fields import BoolKey, LimitKey, LineKey, SpanKey, WordKey, choice, whole, whole_or
from testbed.reading.sections import NO_KEY, Key, Section
from testbed.scenario.keys.background import BackgroundFlow, FlowsType
from testbed.scenario.keys.beside import PLAIN, Beside, PartiesType
from testbed.scenario.keys.clocks import TRUE_CLOCKS, Clocks
from testbed.scenario.keys.fault_loader import FaultsType
from testbed.scenario.keys.job import Compute, Job
from testbed.scenario.keys.job_loader import JobsType, JobType
from testbed.scenario.keys.link import only_virtual
from testbed.scenario.keys.nics import NicsType
from testbed.scenario.keys.pfc import Pfc
from testbed.scenario.keys.recoveries import RecoveriesType
from testbed.scenario.keys.routing import Routing
from testbed.scenario.keys.switch import SwitchOptions
from testbed.scenario.keys.topology_kinds import TOPOLOGY
from testbed.scenario.keys.transport import DcqcnOptions, Transport
from testbed.scenario.protocols import names
from testbed.scenario.protocols.known import protocol_of
from topologies import MAX_PORTS, LinkShape, Node, Topology

__all__ = [
    "CONTROLLER",
    "BackgroundFlow",
    "Compute",
    "DcqcnOptions",
    "Job",
    "Routing",
    "Scenario",
    "SwitchOptions",
    "Transport",
]

CONTROLLER = "controller"
"""the node that steers Open vSwitches (`switch.commodity: openflow`); no part of the topology"""

_SEEDS, _PARTS_APART = 1 << 63, 0xBF58476D1CE4E5B9


@dataclass(frozen=True, slots=True)
class Scenario(Section):
    """What to run, over which network, and what to break."""

    name: WordKey
    """`a-z`, `0-9`, `-`; at most 63 characters"""
    description: LineKey = field(default="", kw_only=True)
    """its first sentence is what `tb list scenarios` shows"""
    seed: Annotated[int, whole(0, (1 << 63) - 1)] = field(default=1, kw_only=True)
    """seed of PSNs, QPNs, ports, gradients and the choice of packets that faults hit. One seed, one run"""
    world: Annotated[str, choice(names.WORLDS)] = field(default="emulated", kw_only=True)
    """`emulated`: real packets between network namespaces (root). `simulated`: the same nodes in virtual time. `lab`:
    hosts and a card behind SSH ([lab](lab.md))"""
    topology: Annotated[Topology, TOPOLOGY]
    """[below](#topology)"""
    link: Annotated[LinkShape, NO_KEY]
    """shape of links without an override"""
    _: KW_ONLY
    switch: Annotated[SwitchOptions, Key(shown="")] = SwitchOptions()
    """[below](#switch)"""
    transport: Annotated[Transport, Key(shown="")] = Transport()
    """[below](#transport)"""
    job: Annotated[Job, JobType(), Key(shown="")] = Job()
    """the one job, or what several have in common, [below](#job)"""
    jobs: Annotated[tuple[Job, ...], JobsType(), Key(shown="`job` alone")] = ()
    """several jobs side by side, a list, [below](#jobs)"""
    beside: Annotated[tuple[Beside, ...], PartiesType(), Key(shown="none")] = ()
    """jobs of other protocols on the same network, a list, [below](#beside)"""
    routing: Routing | None = None
    """[below](#routing)"""
    clocks: Annotated[Clocks, Key(shown="all true")] = TRUE_CLOCKS
    """[below](#clocks)"""
    pfc: Pfc | None = None
    """priority-based flow control, [below](#pfc)"""
    nics: Annotated[tuple[tuple[str, str], ...], NicsType(), Key(shown="all `soft`")] = ()
    """host -> NIC: `soft`, our own endpoint, or `verbs:NAME`, an RDMA device ([devices](verbs.md#in-a-scenario)); world
    `emulated` only"""
    recoveries: Annotated[tuple[tuple[str, str], ...], RecoveriesType(), Key(shown="as `transport.recovery`")] = ()
    """host -> `gbn`, `irn`, `irn-rack` or `irn-held`. All hosts of a job need the same ([IRN](irn.md#keys))"""
    faults: Annotated[tuple[Fault, ...], FaultsType(), Key(shown="none")] = ()
    """a list, [below](#faults)"""
    background: Annotated[tuple[BackgroundFlow, ...], FlowsType(), Key(shown="none")] = ()
    """traffic of other tenants, a list, [below](#background)"""
    time_limit_ns: LimitKey = 60_000_000_000
    """the run ends then, whatever happens; at most `60min`"""
    capture: BoolKey = True
    """keep what passes every switch port, for the transparency check. `--pcap` also writes one file per link (and
    switch, where there are several)"""
    trace: BoolKey = False
    """tell every step of the state machines in the history, for `tb timeline` ([timelines](timeline.md)). Compiled fast
    paths are off then: times of the emulated world grow"""
    sample_every_ns: SpanKey = None
    """how often queues, slots and marks are sampled, for the figures over time: a span, 0 for never, or `auto`. `auto`
    is a hundredth of the time that the gradients alone take on the slowest link. A longer run has a longer interval,
    and the emulated world never samples more often than it can afford ([over time](verdicts.md#figures-over-time))"""
    dilation: Annotated[int | None, whole_or("auto", None, 1, names.MOST_DILATION)] = None
    """emulated world: real seconds that one second of emulated time takes, 1 to 10000, or `auto`: as many as this
    machine needs ([time](time.md)). `--dilation` and `--real-time` set it too"""
    expect: Annotated[str, choice(names.EXPECTATIONS)] = "pass"
    """the verdict this scenario is made to show: `pass`, `fail`, `unknown`. It informs people and tests; the exit code
    is that of the verdict"""
    source: str = field(default="", compare=False)
    """file it came from; no part of the value"""

    @property
    def parts(self) -> tuple[Scenario, ...]:
        """The jobs of each protocol as a scenario of their own.

        The first part is this scenario, or its `job` and `jobs`. Each entry for another protocol is a further part,
        over switches that only forward. Ids of jobs count on, and no two parts draw from one seed.
        """
        if not self.beside:
            return (self,)
        parts = [replace(self, beside=(), job=replace(self.job, number=self.job.number or 1))]
        for place, entry in enumerate(self.beside, 1):
            taken = max(job.number or 1 for job in parts[-1].all_jobs)
            parts.append(
                replace(
                    self,
                    beside=(),
                    seed=(self.seed + place * _PARTS_APART) % _SEEDS,
                    switch=PLAIN,
                    transport=entry.transport,
                    job=replace(entry.job, number=taken + 1),
                    jobs=tuple(replace(job, number=taken + (job.number or 1)) for job in entry.jobs),
                    routing=None,
                )
            )
        return tuple(parts)

    @property
    def ranks(self) -> tuple[Node, ...]:
        """The hosts that run a job, job by job, in rank order."""
        if self.jobs:
            return tuple(self.topology.node(name) for job in self.jobs for name in job.hosts)
        named = tuple(map(self.topology.node, self.job.hosts))
        return named or tuple(host for host in self.topology.hosts if host.name != self.job.server)

    @property
    def all_jobs(self) -> tuple[Job, ...]:
        """Those that run side by side: `jobs`, or `job` once for each of its copies, each on its share of the hosts."""
        job, names = self.job, [host.name for host in self.ranks]
        if self.jobs or job.copies == 1:
            return self.jobs or (job,)
        size = len(names) // job.copies
        return tuple(
            replace(
                job,
                copies=1,
                hosts=tuple(names[index * size : (index + 1) * size]),
                straggler=job.straggler and replace(job.straggler, rank=job.straggler.rank - index * size),
                seed_offset=index,
            )
            for index in range(job.copies)
        )

    @property
    def worlds(self) -> tuple[str, ...]:
        """Check that the world can run it. Clocks of their own exist in virtual time only. So do switches with
        more than `MAX_PORTS` ports, RED, and some protocols. TCP exists in the kernel only, and a controller only where
        Open vSwitch is."""
        controller = any(getattr(fault, "node", "") == CONTROLLER for fault in self.faults)
        if controller or any(flow.kind == "tcp" for flow in self.background):
            return ("emulated",)
        virtual = self.clocks != TRUE_CLOCKS or len(self.topology.hosts) > MAX_PORTS
        virtual = virtual or any(only_virtual(link.shape) for link in self.topology.links)
        virtual = virtual or any("emulated" not in protocol_of(part.job.protocol).worlds() for part in self.parts)
        return ("simulated",) if virtual else ("emulated", "simulated")
