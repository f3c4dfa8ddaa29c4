"""What the plan of a protocol of the user's own may hold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import is_dataclass
from typing import Any

from switch_nodes.config import SwitchConfig
from testbed.faults.connections import Connection
from testbed.plan.background import PlannedFlow
from testbed.scenario.model import Scenario
from workloads.config import Framing, WorkloadConfig
from workloads.ownvalues import Allowed, misfit
from workloads.server import ServerConfig

__all__ = ["planned"]


def planned(scenario: Scenario) -> Mapping[str, Allowed]:
    """By field of the plan."""
    hosts = {host.name for host in scenario.topology.hosts}
    switches = {switch.name for switch in scenario.topology.switches}

    def tuple_of(kind: type, names: set[str] | None = None) -> Allowed:
        words = f"a tuple of {kind.__name__}" + ("" if names is None else ", each with the name of a node of its own")
        return Allowed(words, lambda found: misfit(found, tuple[kind, ...]) is None and _named(found, names))  # type: ignore[valid-type]

    return {
        "workers": Allowed(
            "a tuple of configurations of workers, one at least, each with the name of a host of its own",
            lambda found: isinstance(found, tuple) and found and _named(found, hosts) and all(map(_is_worker, found)),
        ),
        "switches": tuple_of(SwitchConfig, switches),
        "servers": tuple_of(ServerConfig, hosts),
        "connections": tuple_of(Connection),
        "background": tuple_of(PlannedFlow),
        "scenario": Allowed("the Scenario that it got", lambda found: isinstance(found, Scenario)),
        "racks": Allowed("a tuple of numbers", lambda found: misfit(found, tuple[int, ...]) is None),
    }


def _named(found: Any, names: set[str] | None) -> bool:
    if names is None:
        return True
    given = [each.name for each in found]
    return len(set(given)) == len(given) and set(given) <= names


def _is_worker(worker: Any) -> bool:
    """A HostConfig, with what worlds and checkers ask of it."""
    share, kind = worker.collective, type(worker)
    return (
        is_dataclass(kind)
        and isinstance(worker.workload, WorkloadConfig)
        and isinstance(worker.framing, Framing)
        and type(worker.group) is int
        and isinstance(worker.sends, tuple)
        and callable(worker.reborn)
        and type(share.kind) is str
        and type(share.rank) is int
        and type(share.size) is int
        and misfit(worker.workload, WorkloadConfig) is None
        and misfit(worker, kind) is None
    )
