"""Facts that faults tell."""

from __future__ import annotations

from dataclasses import dataclass

from workloads.machine import Event, unless_default

__all__ = ["FaultHealed", "FaultStruck"]


@dataclass(frozen=True, slots=True)
class FaultStruck(Event):
    """A fault really did something."""

    fault: str
    """its name"""
    kind: str
    """loss, burst, drop, corrupt, duplicate, reorder, delay, ecn_mark, forge, link_down, rate_change, kill, pause"""
    backend: str
    """user (the ports of our switch), ebpf, netem, netlink, signal, virtual"""
    target: str
    """link name or node name"""
    direction: str
    """up, down; empty for nodes"""
    flow: str
    """`srcip>dstip:qpn`; empty when the packet is not RoCE"""
    opcode: int
    """-1 when the packet is not RoCE"""
    psn: int
    occurrence: int
    """1: first transmission of this identity on this link and direction"""
    datagram: str = unless_default("")
    """kind of a datagram of an aggregation protocol: data, result, reminder, ...; empty for everything else"""


@dataclass(frozen=True, slots=True)
class FaultHealed(Event):
    """Told by the first frame that finds it healed, so it may be told late."""

    fault: str
    target: str
    windows: tuple[tuple[int, int], ...] = unless_default(())
    """when it acted: (from, until), ns since the start of the traffic; empty: until this is told"""
