"""A scenario as one frozen value: what `testbed.scenario.load_scenario` makes of a YAML file. Units stand in the names."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from switch_nodes.jobs import AggregatorKnobs
from testbed.faults.model import Fault
from testbed.scenario.clocks import TRUE_CLOCKS, Clocks
from topologies import MAX_PORTS, LinkShape, Node, Topology
from workloads.models import Model

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
class DcqcnOptions:
    """None: scaled to the rate of the sender's link (`testbed.plan.congestion`)."""

    time_scale: float | None = None
    gain: float = 1 / 256
    alpha_timer_ns: int | None = None
    increase_timer_ns: int | None = None
    byte_counter_bytes: int | None = None
    cnp_interval_ns: int | None = None
    cut_period_ns: int | None = None
    additive_bps: int | None = None
    hyper_bps: int | None = None
    min_rate_bps: int | None = None
    burst_ns: int | None = None
    recovery_steps: int = 5


@dataclass(frozen=True, slots=True)
class Transport:
    """RC endpoints (workloads.rc)."""

    path_mtu: int = 1024
    """256, 512, 1024, 2048 or 4096"""
    verb: str = "write"
    """write: RDMA WRITE with immediate; send: SEND with immediate"""
    timeout_code: int = 15
    """RTO = 4.096 us x 2^code; 0: never"""
    retry_count: int = 7
    rnr_retry: int = 7
    rnr_timer_code: int = 12
    ack_every: int = 16
    """an ACK after that many packets without AckReq"""
    start_psn: int | None = None
    """None: drawn from the seed, one per connection"""
    receive_late_ns: int = 0
    """a worker posts each receive buffer that late (to provoke RNR NAKs)"""
    rto_ns: int = 10_000_000
    """of datagram protocols: a packet without a result is sent again after that, or after four round trips"""
    framing: str = "udp"
    """of switchml: udp, uc (RoCE v2 unreliable connections)"""
    uc_packets: int = 1
    """packets of a full message over uc"""
    aimd: bool = True
    """of atp and esa: marks halve a worker's window, rounds without one add a packet"""
    congestion_control: str = "none"
    """none, dcqcn"""
    dcqcn: DcqcnOptions = DcqcnOptions()


@dataclass(frozen=True, slots=True)
class SwitchOptions:
    program: str = "netreduce"
    """netreduce, switchml, atp, esa, forward (plain)"""
    release: str = "order"
    """order: rule A of the protocol; asap"""
    gate: str = "window"
    """window: accept ahead packets inside the window; epsn: only the expected one"""
    commodity: str = "soft"
    """what the switches without aggregation are: soft, openflow"""
    memory: int = 256
    """values (of one packet's elements) that the switch stores for aggregation"""
    knobs: AggregatorKnobs = AggregatorKnobs()
    """of programs atp (reclaim only) and esa"""


@dataclass(frozen=True, slots=True)
class Compute:
    """How long an iteration computes. All None: as long as the layers of the model were measured to take."""

    ratio: float | None = None
    """to the time that the gradient takes on the slowest link of the job's hosts"""
    forward_ns: int | None = None
    backward_ns: int | None = None
    jitter: float = 0.0
    """each layer takes up to that share longer or shorter"""


@dataclass(frozen=True, slots=True)
class Job:
    """What the workers do."""

    collective: str = "netreduce"
    """netreduce, switchml, atp, esa, ring, shift (a NetReduce worker through a plain switch), parallel_netreduce, tencent"""
    workload: str = "synthetic"
    """synthetic, extreme, special, digits"""
    size_bytes: int = 1_000_000
    """of one gradient; digits: follows from the model"""
    dtype: str = "float32"
    """float32, int32, int32sat"""
    op: str = "sum"
    """sum, max, xor"""
    iterations: int = 1
    message_packets: int = 170
    """L"""
    window_messages: int = 2
    """N"""
    copies: int = 1
    """the job runs so many times side by side, each on its share of the hosts"""
    window_packets: int = 64
    """W of datagram protocols: packets outstanding per worker"""
    credit: str = "both"
    """both, received, acked"""
    hello: bool = True
    fallback: str = "none"
    """none; ring: start anew as ring all-reduce when the connections die"""
    straggle_rank: int | None = None
    """rank that starts every iteration late"""
    straggle_ns: int = 0
    pipelined: bool = True
    """rings pass on each message as soon as it is there; false: step by step, as closed forms count"""
    hosts: tuple[str, ...] = ()
    """that run it, in rank order; empty: all, in the order of the topology"""
    name: str = ""
    """of one of several jobs"""
    number: int | None = None
    """its id; None: by its place among the jobs"""
    model: Model | None = None
    """None: a gradient of `size_bytes` of which no layers are known; otherwise `size_bytes` follows from it"""
    scale: int = 1000
    """by which the tensors of the model are divided"""
    compute: Compute | None = None
    """None: nothing is computed, unless the model's layers were measured"""
    server: str = ""
    """host of its parameter server, where the protocol has one"""
    fixed_scale: float | None = None
    """atp, esa: by which floats are multiplied, to travel as integers; None: exponents say it, block by block"""
    priority: str = "esa-default"
    """esa: rule of its packets' priority (`workloads.atp.priority`)"""
    priority_x0: float | None = None
    """where the scale of the rule begins; None: the rule's own"""
    arrival_ns: int = 0
    """since the start of the traffic: when the job starts"""
    seed_offset: int = 0
    """jobs with different offsets have different gradients"""
    straggle_factor: float = 1.0
    """by which the rank that starts late computes slower"""


@dataclass(frozen=True, slots=True)
class Routing:
    """Gradient routes to be planned (`tb route`)."""

    servers: tuple[str, ...]
    """hosts that are parameter servers"""
    planner: str = "grid"
    workers: tuple[str, ...] = ()
    """empty: the job's hosts that are no servers"""
    capacity_bps: int = 0
    """that every switch can aggregate, of its input; 0: nothing"""
    capacities: tuple[tuple[str, int], ...] = ()
    """(switch, bits per second) of those that differ"""
    demand_bps: int = 0
    """that every worker must reach; 0: as fast as it goes"""
    mode: str = "aimd"
    """how workers of collective grid find their rates: aimd (by their windows), paced (the planned ones)"""
    pace: float = 1.0
    """paced: the part of the planned rate that they send at"""
    on_collision: str = "drop"
    """what a switch does with a packet whose slot is taken: drop, to_ps"""
    bucket_ns: int = 10_000_000
    """depth of the token bucket that is a switch's capacity"""
    react_ns: int = 50_000_000
    """from the moment a link or switch goes away until a new plan holds"""
    sample_ns: int = 0
    """switches tell what passed every so often; 0: at the end only"""


@dataclass(frozen=True, slots=True)
class BackgroundFlow:
    """Traffic of another tenant, from host to host."""

    name: str
    kind: str
    """udp: constant rate, answers nothing; tcp: the kernel's, by iperf3 (emulated world only)"""
    source: str
    target: str
    rate_bps: int | None
    """udp: of Ethernet frames; tcp: of payload, None: as fast as it can"""
    start_ns: int = 0
    stop_ns: int | None = None
    """None: as long as the run lasts"""
    size_bytes: int | None = None
    """payload at most; None: no limit"""
    payload_bytes: int = 1000
    """of each UDP datagram"""
    ecn: bool = False
    """UDP: its packets are ECN-capable, so that queues mark them instead of leaving them alone"""


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
