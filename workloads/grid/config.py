"""Configuration of one worker of GRID. Values only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from workloads.atp.config import AtpConfig
from workloads.datagrams.shares import SERVER, NodeShare

if TYPE_CHECKING:
    from workloads.machine import HostMachine

__all__ = ["SERVER", "Destination", "GridConfig", "GridOrders", "NodeShare"]


@dataclass(frozen=True, slots=True)
class Destination:
    """A node that takes gradients: an aggregator of a switch, or the server."""

    node: int
    ip: bytes
    mac: bytes


@dataclass(frozen=True, slots=True)
class GridOrders:
    """What a plan asks of the workers, from a time on."""

    shares: tuple[tuple[NodeShare, ...], ...]
    """shares of all workers, by rank"""
    rate_bps: float = 0.0
    """rate of this worker's frames; 0: its window finds it"""
    at_ns: int = 0
    """time since the start of the traffic"""


@dataclass(frozen=True, slots=True)
class GridConfig(AtpConfig):
    """A HostConfig. `envelope` leads to the server; `memory` is 1, since switches choose the slots."""

    group_ip: bytes = b""
    """group address that results for all are sent to"""
    destinations: tuple[Destination, ...] = ()
    orders: tuple[GridOrders, ...] = ()
    """orders by time, the first one from the start"""
    first_window: int = 2
    """packets that may be outstanding at first, where no rate is given"""
    catch_up_ns: int = 20_000_000
    """longest stretch of missed rate that a worker that woke up late makes up for"""

    def create(self, start_ns: int) -> HostMachine:
        from workloads.grid import create_worker  # whose module knows this configuration

        return create_worker(self, start_ns)
