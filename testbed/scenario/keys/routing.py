"""`routing`: what gradient routes are planned for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from testbed.reading.fields import (
    AggregationKey,
    DurationKey,
    NamesKey,
    ServersKey,
    choice,
    number_above_zero,
    refuse,
)
from testbed.reading.keytypes import At, KeyType, Refer, Refused, Told
from testbed.reading.problems import closest, show
from testbed.reading.sections import Key, Section, as_far_as_known, read_mapping
from testbed.reading.units import UnitError, format_rate, parse_rate
from testbed.scenario.keys.job import Job
from testbed.scenario.protocols import names
from topologies import Topology

__all__ = ["Routing", "check_routing"]


@dataclass(frozen=True, slots=True)
class _Rates(KeyType):
    """Rates by the names of switches."""

    def read(self, value: Any, at: At) -> tuple[tuple[str, int], ...]:
        data = read_mapping(at, value, str(at.path[-1]))
        if data is None:
            raise Told
        found = []
        for name, entry in data.items():
            try:
                found.append((name, _rate(entry)))
            except Refused as problem:
                (at / name).add(problem.problem, found=show(entry), allowed=problem.allowed, hint=problem.hint)
        return tuple(found)

    def write(self, value: tuple[tuple[str, int], ...]) -> Any:
        return {name: format_rate(rate) for name, rate in value} or None

    def schema(self, refer: Refer) -> dict[str, Any]:
        return {"type": "object", "additionalProperties": {"anyOf": [{"type": "string"}, {"const": 0}]}}


def _rate(value: object) -> int:
    try:
        return parse_rate(value)
    except UnitError as error:
        raise refuse(error.problem, error.allowed, error.hint) from None


@dataclass(frozen=True, slots=True)
class Routing(Section):
    """Gradient routes to be planned (`tb route`, and runs of protocol grid)."""

    servers: ServersKey
    """the parameter servers: a host, or a list of hosts"""
    planner: Annotated[str, choice(names.PLANNERS)] = names.DEFAULT_PLANNER
    """a name from `tb list planners`"""
    workers: Annotated[NamesKey, Key(shown="the job's")] = ()
    """hosts that send gradients; without the key, the job's hosts that are no servers"""
    capacity_bps: AggregationKey = 0
    """what every switch can aggregate, of its input, as `90Mbps`; at most `10000Gbps`"""
    capacities: Annotated[tuple[tuple[str, int], ...], _Rates()] = ()
    """switches that differ: `{s1: 60Mbps, s2: 0}`"""
    demand_bps: AggregationKey = 0
    """what every worker must reach; `0`: as fast as it goes"""
    mode: Annotated[str, choice(names.RATE_MODES)] = "aimd"
    """runs: each worker's window finds its rate; `paced`: it sends at the plan's"""
    pace: Annotated[float, number_above_zero(10)] = 1.0
    """with `paced`: the part of the planned rate that is sent, above 0, at most 10"""
    on_collision: Annotated[str, choice(names.ON_COLLISION)] = "drop"
    """what a switch does with a packet whose slot is taken: drop it and tell its worker, or `to_ps`"""
    bucket_ns: DurationKey = 10_000_000
    """depth of the token bucket that is a switch's capacity"""
    react_ns: DurationKey = 50_000_000
    """from the failure of a link or switch until a new plan holds"""
    sample_ns: DurationKey = 0
    """switches tell what passed every so often (`LoadSampled`); `0`: never"""


def check_routing(at: At, routing: Routing, topology: Topology, job: Job | None) -> None:
    """Everyone named is there, and has one role."""
    with as_far_as_known():
        known = [switch.name for switch in topology.switches]
        for name, _ in routing.capacities:
            if name not in known:
                (at / "capacities" / name).add("no such switch", allowed=", ".join(known), hint=closest(name, known))
    with as_far_as_known():
        _check_hosts(at / "servers", routing.servers, topology)
    with as_far_as_known():
        _check_hosts(at / "workers", routing.workers, topology)
    with as_far_as_known():
        _check_workers(at, routing, topology, job)


def _check_hosts(at: At, hosts: tuple[str, ...], topology: Topology) -> None:
    known = [host.name for host in topology.hosts]
    for name in hosts:
        if name not in known:
            at.add("no such host", found=show(name), allowed=", ".join(known), hint=closest(name, known))


def _check_workers(at: At, routing: Routing, topology: Topology, job: Job | None) -> None:
    both = [name for name in routing.workers if name in routing.servers]
    if both:
        (at / "workers").add("a server cannot be a worker", found=show(both[0]))
    everyone = routing.workers or (job.hosts if job else ()) or tuple(host.name for host in topology.hosts)
    if not set(everyone) - set(routing.servers):
        (at / "servers").add("no host is left to be a worker", found=", ".join(routing.servers))
