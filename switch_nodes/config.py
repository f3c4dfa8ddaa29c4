"""The configuration that a switch program gets before it starts. Values only."""

from __future__ import annotations

from dataclasses import dataclass

from switch_nodes.jobs import AggregatorKnobs, JobConfig
from switch_nodes.routes.layout import RoutedSwitch
from switch_nodes.steering.layout import SteeringConfig
from workloads.config import ArithmeticSpec

__all__ = ["CarrierChange", "LeafLinks", "RingConfig", "RingMember", "SpineLinks", "SwitchConfig"]


@dataclass(frozen=True, slots=True)
class RingMember:
    rank: int
    ip: bytes
    port: int
    """switch port behind which the member is"""


@dataclass(frozen=True, slots=True)
class LeafLinks:
    """Makes a switch the leaf of one rack. The members of its ring are the hosts of the rack. The last host sends to
    the next rack."""

    group: int
    """hosts of the whole ring"""
    uplinks: tuple[int, ...]
    """ports that lead to the spines, in the order of the spines' numbers"""
    predecessor: RingMember
    """the last host of the rack before; its port means nothing"""
    successor_ip: bytes
    """IP address of the first host of the rack behind"""


@dataclass(frozen=True, slots=True)
class SpineLinks:
    """Makes a switch a spine. The members of its ring are the last hosts of the racks, in rack order. What member r
    sends goes to the first host of rack r+1."""

    group: int
    """hosts of the whole ring"""
    successor_ips: tuple[bytes, ...]
    """IP addresses of the first host of rack r+1, by r"""
    number: int
    """number of this spine, 0 .. spines-1"""
    spines: int


@dataclass(frozen=True, slots=True)
class RingConfig:
    """One installed ring; members in rank order. At a rack's only switch they are 0 .. P-1, and connection k goes from
    member k to member (k+1) mod P."""

    ring_id: int
    members: tuple[RingMember, ...]
    arithmetic: ArithmeticSpec = ArithmeticSpec()
    message_packets: int = 170
    window_messages: int = 2
    path_mtu: int = 1024
    generation: int = 0
    """number without a meaning for packets; a ring that is installed again with another number restarts from
    message 0"""
    links: LeafLinks | SpineLinks | None = None
    """None: the switch has all members at its ports"""
    receive_vas: tuple[int, ...] = ()
    """start of each receive ring, by rank of the whole ring, as the predecessor knows it; message m goes there + m
    times the bytes of L packets. If given, connections use IRN"""
    tells_held: bool = False
    """answers carry maps of what need not be sent again, and the switch adds to them (`irn-held`)"""


@dataclass(frozen=True, slots=True)
class CarrierChange:
    """A port loses its carrier, or gets it back."""

    at_ns: int
    """time when the switch acts on it, since the start of the traffic"""
    port: int
    up: bool


@dataclass(frozen=True, slots=True)
class SwitchConfig:
    name: str
    program: str
    """a name in `switch_nodes.registry`"""
    ports: int
    """ports are 0 .. ports-1"""
    macs: tuple[tuple[bytes, int], ...] = ()
    """static forwarding entries (MAC, port); others are learnt, unknown ones flooded"""
    rings: tuple[RingConfig, ...] = ()
    release: str = "order"
    gate: str = "window"
    trace: bool = False
    """whether to report every step of the tables (FrameStepped, ConnectionStepped, SlotStepped)"""
    groups: tuple[tuple[bytes, tuple[int, ...]], ...] = ()
    """static entries with several equal ports: each flow takes one of them (`switch_nodes.forwarding.equal_cost`)"""
    flow_salt: int = 0
    """makes this switch's choices independent of other switches'"""
    spray: bool = False
    """each frame, not each flow, takes one of several equal ports"""
    flood_ports: tuple[int, ...] | None = None
    """the ports of a spanning tree: floods come in and go out there only, and sources are learnt there only; None:
    all"""
    hairpin: bool = False
    """whether frames to a static entry may leave by the port that they came in by: an accelerator has one neighbour,
    which forwards what comes from it"""
    steering: SteeringConfig | None = None
    """what the rules of program `steer` are made from; other programs ignore it"""
    carrier: tuple[CarrierChange, ...] = ()
    """what the world's faults do to the carrier of ports, by time; program `steer` reacts"""
    jobs: tuple[JobConfig, ...] = ()
    """what programs other than NetReduce aggregate (`docs/programs.md`)"""
    memory: int = 0
    """values of `JobConfig.elements` elements that the aggregation memory stores, of all jobs"""
    knobs: AggregatorKnobs = AggregatorKnobs()
    """settings of programs `atp` and `esa`"""
    grid: RoutedSwitch | None = None
    """what program `grid` knows of the plan of gradient routes"""
