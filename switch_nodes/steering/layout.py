"""What the rules of one commodity switch are made from: where hosts are, which data goes through which accelerator
port."""

from __future__ import annotations

from dataclasses import dataclass

from switch_nodes.routes.layout import PlannedRoute

__all__ = ["HostEntry", "SteeredEdge", "SteeringConfig"]


@dataclass(frozen=True, slots=True)
class HostEntry:
    name: str
    mac: bytes
    """6 bytes"""
    ports: tuple[int, ...]
    """ports that lead to it, ascending, never empty; several: equal-cost multipath"""


@dataclass(frozen=True, slots=True)
class SteeredEdge:
    """INA data from a ring member to its successor."""

    name: str
    """name for people: h1-h2"""
    src_ip: bytes
    """4 bytes"""
    dst_ip: bytes
    in_ports: tuple[int, ...]
    """ports where the sender's frames come in: its own port, or all that lead to it"""
    port: int
    """the accelerator port that this edge goes through"""


@dataclass(frozen=True, slots=True)
class SteeringConfig:
    """One commodity switch and the accelerator next to it. Without accelerator: no edges, no accelerator ports."""

    hosts: tuple[HostEntry, ...]
    edges: tuple[SteeredEdge, ...] = ()
    accelerator_ports: tuple[int, ...] = ()
    """ports of the commodity switch that lead to the accelerator; never part of the flooding tree"""
    dscp: int = 0
    """DSCP of the job's INA data, 0 .. 63; ACK, NAK, CNP and other traffic have another one"""
    routes: tuple[PlannedRoute, ...] = ()
    """routes of a plan of gradient routes, for a switch that aggregates nothing"""
