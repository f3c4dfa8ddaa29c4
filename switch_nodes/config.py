"""What a switch program is told before it starts. Values only."""

from __future__ import annotations

from dataclasses import dataclass

from switch_nodes.jobs import JobConfig
from workloads.config import ArithmeticSpec

__all__ = ["RingConfig", "RingMember", "SwitchConfig"]


@dataclass(frozen=True, slots=True)
class RingMember:
    rank: int
    ip: bytes
    port: int
    """switch port behind which the member is"""


@dataclass(frozen=True, slots=True)
class RingConfig:
    """One installed ring; members in rank order, 0 .. P-1. Connection k goes from member k to member (k+1) mod P."""

    ring_id: int
    members: tuple[RingMember, ...]
    arithmetic: ArithmeticSpec = ArithmeticSpec()
    message_packets: int = 170
    window_messages: int = 2
    path_mtu: int = 1024
    generation: int = 0
    """means nothing to a packet; a ring that is installed again with another one starts anew, from message 0"""


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
    """tell every step of the tables (FrameStepped, ConnectionStepped, SlotStepped)"""
    groups: tuple[tuple[bytes, tuple[int, ...]], ...] = ()
    """static entries with several equal ports: each flow takes one of them (`switch_nodes.flows`)"""
    flow_salt: int = 0
    """makes this switch's choices independent of other switches'"""
    flood_ports: tuple[int, ...] | None = None
    """the ports of a spanning tree: floods come in and go out there only, and sources are learnt there only; None: all"""
    jobs: tuple[JobConfig, ...] = ()
    """what programs other than NetReduce aggregate (`docs/programs.md`)"""
    memory: int = 0
    """values of `JobConfig.elements` elements that the aggregation memory stores, of all jobs"""
