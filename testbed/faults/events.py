"""Facts that faults report."""

from __future__ import annotations

from dataclasses import dataclass

from workloads.machine import Event, unless_default

__all__ = ["NOTHING_CARRIED", "NOTHING_HELD_UP", "FaultHealed", "FaultMissed", "FaultStruck"]

NOTHING_CARRIED = "the link carried nothing while its rate was another"
NOTHING_HELD_UP = "no frame and no timer was held up by it"


@dataclass(frozen=True, slots=True)
class FaultStruck(Event):
    """A fault really did something."""

    fault: str
    """its name"""
    kind: str
    """loss, burst, drop, corrupt, duplicate, reorder, delay, ecn_mark, forge, link_down, rate_change, kill, pause,
    pause_storm"""
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
    packet: str = unless_default("")
    """description of a datagram of an aggregation protocol, which has no PSN. It says what the datagram is, whose, and
    by which identity the fault chose it: `data 10.77.0.2>10.77.0.9 job 1 packet 17 #0123456789abcdef`. It says `data
    again ...` where the sender marks a repetition"""


@dataclass(frozen=True, slots=True)
class FaultHealed(Event):
    """Reported by the first frame after the fault healed, so it may come late."""

    fault: str
    target: str
    windows: tuple[tuple[int, int], ...] = unless_default(())
    """times when it acted: (from, until), ns since the start of the traffic; empty: until this event"""


@dataclass(frozen=True, slots=True)
class FaultMissed(Event):
    """Reported hits that changed nothing in the end: they count as none. Reported when that is known, at the end at the
    latest."""

    fault: str
    kind: str
    target: str
    direction: str
    """empty for nodes"""
    strikes: int
    why: str
    """reason, for a person"""
