"""The problem to plan: which hosts send gradients to which servers, over which network, and how much each switch can
aggregate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from topologies.graph import Role, Topology

__all__ = ["Infeasible", "Problem"]


class Infeasible(ValueError):
    """There is no plan; `binds` names what is in the way: nodes, or links as `s1->s3`."""

    def __init__(self, problem: str, binds: tuple[str, ...]) -> None:
        self.problem, self.binds = problem, binds
        super().__init__(f"{problem}: {', '.join(binds)}")


@dataclass(frozen=True, slots=True)
class Problem:
    """Every worker sends every server its share of the gradient; rates count bits of whole frames, as links do.

    Raises ValueError for names that are no hosts or switches, and for a worker that is a server. Also for hosts with
    several links, and for capacities below zero."""

    topology: Topology
    workers: tuple[str, ...]
    """hosts, in rank order"""
    servers: tuple[str, ...]
    """hosts; several share the model between them"""
    capacities: tuple[tuple[str, float], ...] = ()
    """(switch, bits per second of input that it can aggregate, all streams together), in the order of the topology;
    switches that are not named aggregate nothing"""
    demand_bps: float = 0.0
    """rate that every worker must reach; 0: as fast as it goes"""

    def __post_init__(self) -> None:
        links: dict[str, int] = {node.name: 0 for node in self.topology.hosts}
        for link in self.topology.links:
            for end in (link.a, link.b):
                if end in links:
                    links[end] += 1
        for name in (*self.workers, *self.servers):
            if name not in links:
                raise ValueError(f"{name} is no host")
            if links[name] != 1:
                raise ValueError(f"host {name} has {links[name]} links, not one")
        everyone = (*self.workers, *self.servers)
        if len(set(everyone)) != len(everyone) or not self.workers or not self.servers:
            raise ValueError("workers and servers are different hosts, at least one of each")
        switches = {node.name for node in self.topology.nodes if node.role is Role.SWITCH}
        names = [name for name, _ in self.capacities]
        for name, capacity in self.capacities:
            if name not in switches or names.count(name) > 1:
                raise ValueError(f"{name} is no switch, or named twice")
            if capacity < 0:
                raise ValueError(f"{name} cannot aggregate less than nothing")

    @classmethod
    def of(
        cls,
        topology: Topology,
        servers: tuple[str, ...],
        capacities: Mapping[str, float] | float = 0.0,
        workers: tuple[str, ...] = (),
        demand_bps: float = 0.0,
    ) -> Problem:
        """`capacities`: by switch, or one for all; `workers`: without any, all hosts that are no servers."""
        each = capacities if isinstance(capacities, Mapping) else dict.fromkeys(_switches(topology), capacities)
        known = _switches(topology)
        strange = [name for name in each if name not in known]
        if strange:
            raise ValueError(f"{strange[0]} is no switch")
        return cls(
            topology,
            workers or tuple(host.name for host in topology.hosts if host.name not in servers),
            servers,
            tuple((name, float(each[name])) for name in known if each.get(name, 0.0) > 0 or name in each),
            demand_bps,
        )

    def without(self, *failed: str) -> Problem:
        """What is left when links and switches of these names are gone. Raises Infeasible when a worker or server hangs
        on one of them, and KeyError for a name that there is not."""
        nodes = {node.name for node in self.topology.switches}
        links = {link.name for link in self.topology.links}
        for name in failed:
            if name not in nodes and name not in links:
                raise KeyError(name)
        left = tuple(e for e in self.topology.links if not {e.name, e.a, e.b} & set(failed))
        linked = {end for link in left for end in (link.a, link.b)}
        for host in (*self.workers, *self.servers):
            if host not in linked:
                raise Infeasible(f"{host} is cut off", failed)
        return replace(
            self,
            topology=replace(
                self.topology, nodes=tuple(n for n in self.topology.nodes if n.name not in failed), links=left
            ),
            capacities=tuple((name, capacity) for name, capacity in self.capacities if name not in failed),
        )

    @property
    def aggregators(self) -> tuple[str, ...]:
        """Switches that can aggregate anything."""
        return tuple(name for name, capacity in self.capacities if capacity > 0)

    def capacity_bps(self, switch: str) -> float:
        return dict(self.capacities).get(switch, 0.0)


def _switches(topology: Topology) -> list[str]:
    return [node.name for node in topology.switches]
