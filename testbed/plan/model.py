"""What a plan is: the configurations of all nodes of one run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from switch_nodes.config import SwitchConfig
from testbed.faults.connections import Connection
from testbed.plan.background import PlannedFlow
from testbed.plan.timers import Timers
from testbed.scenario.model import Scenario
from workloads.config import HostConfig, NodeConfig, WorkerConfig
from workloads.server import ServerConfig

if TYPE_CHECKING:
    from topologies.routing.gradients import RoutingPlan

__all__ = ["Plan", "RoutedFrom", "Unroutable"]


@dataclass(frozen=True, slots=True)
class RoutedFrom:
    """Gradient routes, and when they begin to hold, in time since the start of the traffic."""

    from_ns: int
    plan: RoutingPlan
    because_ns: int | None = None
    """when a link or switch went away, or came back, which is why there is a new plan; None: the first one"""


@dataclass(frozen=True, slots=True)
class Unroutable:
    """A change that nothing can be planned around: the plan before it stays. Times since the start of the traffic."""

    because_ns: int
    reason: str


@dataclass(frozen=True, slots=True)
class Plan:
    scenario: Scenario
    workers: tuple[HostConfig, ...]
    """group by group, each in rank order; a worker's name is its host's"""
    switches: tuple[SwitchConfig, ...]
    connections: tuple[Connection, ...]
    """one ring: connection k goes from rank k to rank k+1; phases: those of rank 0 in their order, then those of rank
    1, ...; SwitchML over UC: for each worker those of its indices"""
    racks: tuple[int, ...] = ()
    """hosts of each rack, in rank order, where switches sum each rack first; empty: all ranks enter one sum"""
    background: tuple[PlannedFlow, ...] = ()
    servers: tuple[ServerConfig, ...] = ()
    """parameter servers; a server's name is its host's, which is no worker's"""
    routing: tuple[RoutedFrom, ...] = ()
    """protocol grid: plans of gradient routes, by time"""
    unroutable: tuple[Unroutable, ...] = ()
    """protocol grid: changes without a plan, by time"""
    timers: Timers = Timers()
    """of jobs of several protocols, those of the first; each has its own"""
    beside: tuple[Plan, ...] = ()
    """of jobs of several protocols, the plan of each, which is whole but for background traffic; empty: there is one
    protocol"""

    @property
    def parts(self) -> tuple[Plan, ...]:
        """Of each protocol its plan."""
        return self.beside or (self,)

    @property
    def groups(self) -> Mapping[int, tuple[HostConfig, ...]]:
        """By id of ring or job: the workers whose gradients are summed with each other."""
        groups: dict[int, list[HostConfig]] = {}
        for worker in self.workers:
            groups.setdefault(worker.group, []).append(worker)
        return {group: tuple(workers) for group, workers in groups.items()}

    @property
    def ring_workers(self) -> tuple[WorkerConfig, ...]:
        """The workers where they talk over RC connections; else none."""
        return tuple(worker for worker in self.workers if isinstance(worker, WorkerConfig))

    @property
    def least_frame_bytes(self) -> int:
        """Of a full data packet, of the worker whose packets are the smallest."""
        return min(worker.framing.frame_bytes for worker in self.workers)

    @property
    def hosts(self) -> tuple[NodeConfig, ...]:
        """Of all hosts that run something of ours: workers, then servers."""
        return (*self.workers, *self.servers)
