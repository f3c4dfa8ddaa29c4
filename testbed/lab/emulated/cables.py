"""Faults on the cables between the workers and the card of an emulated lab. The world writes the scenario and the
addresses of its hosts to a file; the card's process makes the filters of its ports from them at START. So they hit the
same packets as in the other worlds.

A cable serves its link in both directions, and its times are those of the card, from START on. So faults with a time of
their own are refused (`testbed.worlds.lab.placing`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from testbed.faults.link_filter import LinkFilter
from testbed.plan import make_plan
from testbed.plan.filters import make_filters
from testbed.scenario import Scenario, dump_scenario, parse_scenario

__all__ = ["Cables", "cables_of", "cables_text"]

_KEYS = frozenset({"scenario", "hosts", "dilation"})


@dataclass(frozen=True, slots=True)
class Cables:
    """What the card's process has to know of a run."""

    ingress: Mapping[int, LinkFilter] = field(default_factory=dict)
    """by data port"""
    egress: Mapping[int, LinkFilter] = field(default_factory=dict)
    dilation: int = 1
    """real seconds per second of emulated time"""


def cables_text(scenario: Scenario, dilation: int) -> str:
    """`scenario`: as it runs, with the addresses of the lab's interfaces."""
    hosts = {node.name: [node.mac.hex(), node.ip.hex()] for node in scenario.topology.hosts}
    return json.dumps({"scenario": dump_scenario(scenario), "hosts": hosts, "dilation": dilation})


def cables_of(path: Path) -> Cables:
    """No faults, and the time of the machine, where there is no such file. Raises ValueError for another text,
    ScenarioError for a scenario that cannot be read."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return Cables()
    found = json.loads(text)
    if not isinstance(found, dict) or found.keys() != _KEYS:
        raise ValueError(f"{path} does not describe the cables of a run")
    scenario = parse_scenario(found["scenario"], str(path))
    hosts = {name: tuple(map(bytes.fromhex, both)) for name, both in found["hosts"].items()}
    nodes = tuple(
        replace(node, mac=hosts[node.name][0], ip=hosts[node.name][1]) if node.name in hosts else node
        for node in scenario.topology.nodes
    )
    plan = make_plan(replace(scenario, topology=replace(scenario.topology, nodes=nodes)))
    (switch,) = plan.switches
    ingress, egress = make_filters(plan, switch.name)
    return Cables(ingress, egress, int(found["dilation"]))
