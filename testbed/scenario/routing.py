"""`routing`: what gradient routes are planned for, between file and value."""

from __future__ import annotations

from typing import Any

from testbed.reading.problems import KeyPath, Problems, closest, show
from testbed.reading.units import UnitError, format_duration, format_rate, parse_rate
from testbed.reading.validate import validate_mapping, validate_section
from testbed.scenario.model import Job, Routing
from testbed.scenario.schema import RoutingKeys
from topologies import Topology

__all__ = ["dump_routing", "load_routing"]

_PATH: KeyPath = ("routing",)


def load_routing(problems: Problems, value: object, topology: Topology | None, job: Job | None) -> Routing | None:
    """None without the section, and where it has problems (they are told)."""
    if value is None:
        return None
    keys = validate_section(problems, _PATH, value, RoutingKeys, "routing")
    given = value.get("capacities") if isinstance(value, dict) else None
    capacities = _load_capacities(problems, given, topology)
    if keys is None or capacities is None:
        return None
    if topology is not None:
        _check_hosts(problems, "servers", keys.servers, topology)
        _check_hosts(problems, "workers", keys.workers, topology)
        _check_workers(problems, keys, topology, job)
    return Routing(
        keys.servers, keys.planner, keys.workers, keys.capacity, capacities, keys.demand, keys.mode, keys.pace,
        keys.on_collision, keys.bucket, keys.react, keys.sample,
    )  # fmt: skip


def _load_capacities(
    problems: Problems, value: object, topology: Topology | None
) -> tuple[tuple[str, int], ...] | None:
    if value is None:
        return ()
    path = (*_PATH, "capacities")
    data = validate_mapping(problems, path, value, "capacities")
    if data is None:
        return None
    known = None if topology is None else [switch.name for switch in topology.switches]
    found, good = [], True
    for name, entry in data.items():
        if known is not None and name not in known:
            problems.add((*path, name), "no such switch", allowed=", ".join(known), hint=closest(name, known))
            good = False
            continue
        try:
            found.append((name, parse_rate(entry)))
        except UnitError as error:
            problems.add((*path, name), error.problem, found=show(entry), allowed=error.allowed, hint=error.hint)
            good = False
    return tuple(found) if good else None


def _check_hosts(problems: Problems, key: str, names: tuple[str, ...], topology: Topology) -> None:
    known = [host.name for host in topology.hosts]
    for name in names:
        if name not in known:
            problems.add(
                (*_PATH, key), "no such host", found=show(name), allowed=", ".join(known), hint=closest(name, known)
            )


def _check_workers(problems: Problems, keys: RoutingKeys, topology: Topology, job: Job | None) -> None:
    both = [name for name in keys.workers if name in keys.servers]
    if both:
        problems.add((*_PATH, "workers"), "a server cannot be a worker", found=show(both[0]))
    everyone = keys.workers or (job.hosts if job else ()) or tuple(host.name for host in topology.hosts)
    if not set(everyone) - set(keys.servers):
        problems.add((*_PATH, "servers"), "no host is left to be a worker", found=", ".join(keys.servers))


def dump_routing(routing: Routing) -> dict[str, Any]:
    """The section that loads back to the equal value."""
    result: dict[str, Any] = {"servers": list(routing.servers), "planner": routing.planner}
    if routing.workers:
        result["workers"] = list(routing.workers)
    result["capacity"] = format_rate(routing.capacity_bps)
    if routing.capacities:
        result["capacities"] = {name: format_rate(rate) for name, rate in routing.capacities}
    return result | {
        "demand": format_rate(routing.demand_bps),
        "mode": routing.mode,
        "pace": routing.pace,
        "on_collision": routing.on_collision,
        "bucket": format_duration(routing.bucket_ns),
        "react": format_duration(routing.react_ns),
        "sample": format_duration(routing.sample_ns),
    }
