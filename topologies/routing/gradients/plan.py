"""A plan: where each worker's gradients are aggregated, and along which links they and the aggregates travel."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from topologies.routing.gradients.problem import Problem

__all__ = ["Load", "Merge", "Route", "RoutingPlan", "Stream"]


@dataclass(frozen=True, slots=True)
class Route:
    """One way, and what goes along it."""

    nodes: tuple[str, ...]
    """nodes from the sender to the receiver, both among them"""
    links: tuple[str, ...]
    """names, between these nodes"""
    rate_bps: float


@dataclass(frozen=True, slots=True)
class Stream:
    """What one worker sends to one node for one server."""

    worker: str
    server: str
    node: str
    """the switch that aggregates it, or the server itself"""
    routes: tuple[Route, ...]

    @property
    def rate_bps(self) -> float:
        return sum(route.rate_bps for route in self.routes)


@dataclass(frozen=True, slots=True)
class Merge:
    """What one switch sends to one server: the streams that it aggregates, as one that is as fast as the fastest of
    them."""

    switch: str
    server: str
    routes: tuple[Route, ...]

    @property
    def rate_bps(self) -> float:
        return sum(route.rate_bps for route in self.routes)


@dataclass(frozen=True, slots=True)
class Load:
    name: str
    """`s1->s3`, or a switch"""
    link: str
    """name of the link; of a switch: empty"""
    load_bps: float
    capacity_bps: float


@dataclass(frozen=True)
class RoutingPlan:
    """A value: everything else follows from these. `violations` says whether it holds."""

    problem: Problem
    planner: str
    streams: tuple[Stream, ...]
    merges: tuple[Merge, ...]
    bound_bps: float
    """no plan for this problem has a higher smallest rate (of the link-aware LP, where the planner solved it; else
    infinity)"""
    binds: tuple[str, ...] = ()
    """links and switches without which that bound would be higher"""
    note: str = ""
    """way in which the plan was found, where that is worth saying"""

    @cached_property
    def worker_rates(self) -> dict[str, float]:
        """bits per second that each worker sends, to all servers together"""
        rates = dict.fromkeys(self.problem.workers, 0.0)
        for stream in self.streams:
            if stream.worker in rates:
                rates[stream.worker] += stream.rate_bps
        return rates

    @property
    def min_rate_bps(self) -> float:
        return min(self.worker_rates.values())

    @cached_property
    def fan_in(self) -> dict[tuple[str, str], tuple[str, ...]]:
        """(switch, server) -> workers whose streams it aggregates, in rank order"""
        found: dict[tuple[str, str], list[str]] = {}
        for stream in self.streams:
            if stream.node != stream.server:
                found.setdefault((stream.node, stream.server), []).append(stream.worker)
        order = {worker: rank for rank, worker in enumerate(self.problem.workers)}
        last = len(order)
        return {key: tuple(sorted(workers, key=lambda name: order.get(name, last))) for key, workers in found.items()}

    @property
    def single(self) -> bool:
        """Whether every worker sends each server its share to one node, along one way: what a table of flows can
        hold."""
        pairs = [(stream.worker, stream.server) for stream in self.streams]
        parts: tuple[Stream | Merge, ...] = (*self.streams, *self.merges)
        return len(set(pairs)) == len(pairs) and all(len(part.routes) == 1 for part in parts)

    @cached_property
    def link_loads(self) -> tuple[Load, ...]:
        """Of every direction that something travels along, in the order of the topology's links."""
        used: dict[tuple[str, str], float] = {}
        parts: tuple[Stream | Merge, ...] = (*self.streams, *self.merges)
        for route in (route for part in parts for route in part.routes):
            for tail, link in zip(route.nodes, route.links, strict=False):
                used[link, tail] = used.get((link, tail), 0.0) + route.rate_bps
        return tuple(
            Load(f"{tail}->{head}", link.name, used[link.name, tail], float(link.shape.rate_bps))
            for link in self.problem.topology.links
            for tail, head in ((link.a, link.b), (link.b, link.a))
            if (link.name, tail) in used
        )

    @cached_property
    def switch_loads(self) -> tuple[Load, ...]:
        """Of every switch that can aggregate: the rates of all streams that it does aggregate."""
        used: dict[str, float] = {}
        for stream in self.streams:
            if stream.node != stream.server:
                used[stream.node] = used.get(stream.node, 0.0) + stream.rate_bps
        named = dict(self.problem.capacities)
        known: Iterable[str] = dict.fromkeys([*named, *used])
        return tuple(Load(name, "", used.get(name, 0.0), named.get(name, 0.0)) for name in known)

    def load_bps(self, name: str) -> float:
        """Of a switch (`s1`), or of one direction between two nodes (`s1->s3`); 0 where nothing is."""
        return sum(load.load_bps for load in (*self.link_loads, *self.switch_loads) if load.name == name)
