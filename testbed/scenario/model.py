"""A scenario as one frozen value: what `testbed.scenario.load_scenario` makes of a YAML file. Units stand in the names."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from testbed.faults.model import Fault
from testbed.scenario.background import BackgroundFlow
from testbed.scenario.clocks import TRUE_CLOCKS, Clocks
from testbed.scenario.job import Compute, Job
from testbed.scenario.routing import Routing
from testbed.scenario.switch import SwitchOptions
from testbed.scenario.transport import DcqcnOptions, Transport
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


@dataclass(frozen=True, slots=True)
class Scenario:
    name: str
    topology: Topology
    link: LinkShape
    """shape of links without an override"""
    description: str = ""
    seed: int = 1
    world: str = "emulated"
    transport: Transport = Transport()
    switch: SwitchOptions = SwitchOptions()
    job: Job = Job()
    """the one job, or what several have in common"""
    jobs: tuple[Job, ...] = ()
    """several side by side, each with its hosts; empty: `job` alone, or its copies"""
    routing: Routing | None = None
    clocks: Clocks = TRUE_CLOCKS
    """of the nodes; only the simulated world can set them"""
    nics: tuple[tuple[str, str], ...] = ()
    """(host, RDMA device) of the hosts that are on a device; the others are on our own endpoint"""
    faults: tuple[Fault, ...] = ()
    background: tuple[BackgroundFlow, ...] = ()
    time_limit_ns: int = 60_000_000_000
    capture: bool = True
    """keep what passes every switch port, for the transparency checker; `--pcap` also writes it to files"""
    trace: bool = False
    """tell every step of the state machines of hosts and switches, for `tb timeline`"""
    dilation: int | None = 1
    """real seconds that a second of the emulated world takes; None: as many as this machine needs for it"""
    expect: str = "pass"
    """the verdict that this scenario is made to show"""
    source: str = field(default="", compare=False)
    """file it came from; no part of the value"""

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
                straggle_rank=None if job.straggle_rank is None else job.straggle_rank - index * size,
                seed_offset=index,
            )
            for index in range(job.copies)
        )

    @property
    def worlds(self) -> tuple[str, ...]:
        """Where it can run: clocks of their own exist in virtual time only, as switches with more than `MAX_PORTS` ports do, TCP
        in the kernel only, and a controller only where Open vSwitch is."""
        controller = any(getattr(fault, "node", "") == CONTROLLER for fault in self.faults)
        if controller or any(flow.kind == "tcp" for flow in self.background):
            return ("emulated",)
        virtual = self.clocks != TRUE_CLOCKS or len(self.topology.hosts) > MAX_PORTS
        return ("simulated",) if virtual else ("emulated", "simulated")
