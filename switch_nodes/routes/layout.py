"""What a switch knows of a plan of routes: its own aggregator, and from when on which routes hold. Values only."""

from __future__ import annotations

from dataclasses import dataclass

from workloads.datagrams.shares import NodeShare

__all__ = ["COLLISIONS", "PlannedRoute", "RouteOrders", "RoutedSwitch"]

COLLISIONS = ("drop", "to_ps")


@dataclass(frozen=True, slots=True)
class PlannedRoute:
    """Frames from one address to another leave by these ports, a copy by each. The routes that name a source come
    first."""

    name: str
    """name for people and flow dumps: w4-s2"""
    dst_ip: bytes
    """4 bytes"""
    ports: tuple[int, ...]
    src_ip: bytes | None = None
    """None: any"""


@dataclass(frozen=True, slots=True)
class RouteOrders:
    """One plan, as one switch sees it."""

    routes: tuple[PlannedRoute, ...]
    shares: tuple[tuple[NodeShare, ...], ...]
    """shares of all workers, by rank: which workers' packets meet at which node"""
    at_ns: int = 0
    """since the start of the traffic"""
    planner: str = ""
    """name of the planner, for people"""
    rate_bps: float = 0.0
    """rate of the slowest worker, for people"""


@dataclass(frozen=True, slots=True)
class RoutedSwitch:
    node: int
    """its id, from 1"""
    ip: bytes
    """IP address of its aggregator: what is addressed to it is summed here"""
    mac: bytes
    server_ip: bytes
    server_mac: bytes
    group_ip: bytes
    """group address for results that go to all workers"""
    orders: tuple[RouteOrders, ...]
    """orders by time, the first one from the start"""
    capacity_bps: float = 0.0
    """bits of frames that are aggregated, per second; 0: none, everything goes on to the server"""
    depth_ns: int = 10_000_000
    """depth of the token bucket: time at the rate that may come at once"""
    on_collision: str = "drop"
    """what becomes of a packet whose slot serves another block: drop (and a RATE packet informs its worker), to_ps"""
    sample_ns: int = 0
    """interval between two reports of what passed (LoadSampled); 0: no reports"""
