"""The nodes and one-way channels of a plan, ready to be explored."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from switch_nodes.registry import create_program
from testbed.plan import Plan
from testbed.states.forgotten import Forgotten
from testbed.states.station import NodeStates
from testbed.worlds.simulated import make_worker
from testbed.worlds.simulated.finishing import FinishingMachine
from testbed.worlds.simulated.world import ProgramFactory, WorkerFactory
from topologies import DIRECTIONS, Direction
from workloads.errors import ScenarioError

__all__ = ["Channel", "NetworkModel", "make_network"]


@dataclass(frozen=True, slots=True)
class Channel:
    """One direction of a link. Its frames stay in order, except those that a fault holds back or copies."""

    link: str
    direction: str
    receiver: int
    """number of the node"""
    port: int
    """port of the receiver"""
    alone: bool
    """whether all that the receiver gets comes by this channel"""

    @property
    def name(self) -> str:
        return f"{self.link} {self.direction}"


@dataclass(frozen=True, slots=True)
class NetworkModel:
    stations: tuple[NodeStates, ...]
    """hosts first, then switches"""
    workers: tuple[int, ...]
    """numbers of the nodes that must finish"""
    switches: tuple[int, ...]
    """numbers of the nodes that are switches"""
    channels: tuple[Channel, ...]
    leads: dict[tuple[int, int], int]
    """(node, port) -> number of the channel that begins there"""


def make_network(
    plan: Plan,
    forgotten: Forgotten,
    create: ProgramFactory = create_program,
    employ: WorkerFactory = make_worker,
    station: type[NodeStates] = NodeStates,
) -> NetworkModel:
    """The network of a plan. `create` makes the switches' programs, `employ` the hosts' workers. Raises ScenarioError
    for a plan with background traffic."""
    scenario = plan.scenario
    if plan.background:
        raise ScenarioError("background traffic cannot be explored", file=scenario.name, key="background")
    configs = [_without_pauses(config) for config in plan.hosts]
    stations = [station(config.name, _host(config, employ), forgotten, pulls=True) for config in configs]
    stations += [station(config.name, _switch(config, create), forgotten, pulls=False) for config in plan.switches]
    numbers = {station.name: number for number, station in enumerate(stations)}
    ends = []
    for link in scenario.topology.links:
        both = {Direction.UP: ((link.a, link.a_port), (link.b, link.b_port))}
        both[Direction.DOWN] = both[Direction.UP][::-1]
        ends += [(link.name, str(direction), *both[direction]) for direction in DIRECTIONS]
    ends = [end for end in ends if end[2][0] in numbers and end[3][0] in numbers]
    receivers = [receiver for _, _, _, (receiver, _) in ends]
    channels = [
        Channel(link, direction, numbers[receiver], port, receivers.count(receiver) == 1)
        for link, direction, _, (receiver, port) in ends
    ]
    leads = {(numbers[sender], port): at for at, (_, _, (sender, port), _) in enumerate(ends)}
    workers = tuple(numbers[worker.name] for worker in plan.workers)
    switches = tuple(numbers[switch.name] for switch in plan.switches)
    return NetworkModel(tuple(stations), workers, switches, tuple(channels), leads)


def _without_pauses(config: Any) -> Any:
    """A host that computes its last digest at once: that pause spares the processor and decides nothing."""
    workload = getattr(config, "workload", None)
    return config if workload is None else replace(config, workload=replace(workload, digest_delay_ns=0))


def _host(config: Any, employ: WorkerFactory) -> Callable[[int], FinishingMachine]:
    return lambda now: employ(config, now)


def _switch(config: Any, create: ProgramFactory) -> Callable[[int], FinishingMachine]:
    return lambda now: create(config)
