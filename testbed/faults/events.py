"""Facts that faults tell."""

from __future__ import annotations

from dataclasses import dataclass

from workloads.machine import Event

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


@dataclass(frozen=True, slots=True)
class FaultHealed(Event):
    fault: str
    target: str
