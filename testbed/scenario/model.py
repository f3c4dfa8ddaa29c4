"""A scenario as one frozen value: what `testbed.scenario.load` makes of a YAML file. Units stand in the names."""

from __future__ import annotations

from dataclasses import dataclass, field

from testbed.faults.model import Fault
from testbed.scenario.clocks import TRUE_CLOCKS, Clocks
from topologies import LinkShape, Topology

__all__ = ["CONTROLLER", "Job", "Scenario", "SwitchOptions", "Transport"]


CONTROLLER = "controller"
"""the node that steers Open vSwitches (`switch.commodity: openflow`); no part of the topology"""


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


@dataclass(frozen=True, slots=True)
class SwitchOptions:
    program: str = "netreduce"
    """netreduce, forward (plain)"""
    release: str = "order"
    """order: rule A of the protocol; asap"""
    gate: str = "window"
    """window: accept ahead packets inside the window; epsn: only the expected one"""
    commodity: str = "soft"
    """what the switches without aggregation are: soft, openflow"""


@dataclass(frozen=True, slots=True)
class Job:
    """What the workers do."""

    collective: str = "netreduce"
    """netreduce, ring, shift (a NetReduce worker through a plain switch)"""
    workload: str = "synthetic"
    """synthetic, digits"""
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
    credit: str = "both"
    """both, received, acked"""
    hello: bool = True
    fallback: str = "none"
    """none; ring: start anew as ring all-reduce when the connections die"""
    straggle_rank: int | None = None
    """rank that starts every iteration late"""
    straggle_ns: int = 0


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
    clocks: Clocks = TRUE_CLOCKS
    """of the nodes; only the simulated world can set them"""
    faults: tuple[Fault, ...] = ()
    time_limit_ns: int = 60_000_000_000
    capture: bool = True
    """keep what passes every switch port, for the transparency checker; `--pcap` also writes it to files"""
    trace: bool = False
    """tell every step of the state machines of hosts and switches, for `tb timeline`"""
    expect: str = "pass"
    """the verdict that this scenario is made to show"""
    source: str = field(default="", compare=False)
    """file it came from; no part of the value"""
