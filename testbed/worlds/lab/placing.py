"""Which host of the lab plays which host of the scenario, and the scenario with the addresses of its hardware. Pure."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from switch_nodes.kinds import uses
from testbed.faults.model import PacketFault, Window
from testbed.lab.agent.facts import InterfaceFacts
from testbed.lab.model import Card, Inventory
from testbed.scenario.keys.clocks import TRUE_CLOCKS
from testbed.scenario.model import Scenario
from testbed.scenario.protocols.known import programs
from workloads.config import WorkerConfig
from workloads.errors import LabError, ScenarioError

__all__ = ["PROGRAMS", "choose_card", "localised", "places", "refuse_for_lab", "worker_of"]

PROGRAMS = tuple(name for name in programs if uses(name, "rings"))
"""programs that a card runs: those that sum what passes on a ring of connections"""


def refuse_for_lab(scenario: Scenario, card: Card | None = None, dilation: int = 1) -> None:
    """What hardware that is not ours cannot be. `card`: the one that sums; `dilation`: of the lab. Raises
    ScenarioError."""

    def refuse(problem: str, key: str, found: str | None, allowed: str) -> ScenarioError:
        return ScenarioError(problem, file=scenario.source, key=key, found=found, allowed=allowed)

    if scenario.topology.kind != "rack":
        raise refuse("a lab has one card between its hosts", "topology.kind", scenario.topology.kind, "rack")
    if scenario.switch.program not in PROGRAMS:
        raise refuse("a card runs this program only", "switch.program", scenario.switch.program, ", ".join(PROGRAMS))
    emulates = card is not None and card.cables is not None
    for fault in scenario.faults:
        if not emulates:
            allowed = "none in world lab; emulated and simulated have them"
            raise refuse("the cables of a lab cannot have faults", "faults", fault.name, allowed)
        if not isinstance(fault, PacketFault) or fault.window != Window():
            allowed = "faults of packets, without from and until; emulated and simulated have all"
            raise refuse("the cables of an emulated lab cannot have this fault", "faults", fault.name, allowed)
    if scenario.background:
        raise refuse("other tenants are not played in a lab", "background", scenario.background[0].name, "none")
    if scenario.clocks != TRUE_CLOCKS:
        raise refuse("only the simulated world has clocks of its own", "clocks", None, "--world simulated")
    if scenario.dilation not in (None, 1, dilation):
        known = "1" if dilation == 1 else f"1, {dilation} (of this lab)"
        raise refuse("cards and hosts of a lab keep their own time", "dilation", str(scenario.dilation), known)
    if scenario.trace:
        raise refuse("a card does not tell every step of its tables", "trace", "true", "false")
    if scenario.link.trims or any(link.shape.trims for link in scenario.topology.links):
        raise refuse("cables and cards of a lab do not trim packets", "topology.link.queue_full", "trim", "drop")
    shapes = scenario.link, *(link.shape for link in scenario.topology.links)
    asked = next((shape.priority for shape in shapes if shape.priority != "none"), None)
    if asked is not None:
        problem = "cables and cards of a lab do not serve classes"
        raise refuse(problem, "topology.link.priority", asked, "none")
    if any(shape.drop_low_above_packets is not None for shape in shapes):
        problem = "cables and cards of a lab do not know classes"
        raise refuse(problem, "topology.link.drop_low_above", None, "none")
    if scenario.nics:
        raise refuse("workers in a lab are endpoints of ours", "nics", scenario.nics[0][1], "soft")


def choose_card(inventory: Inventory) -> Card:
    """The first card that has ports. Raises ScenarioError."""
    for card in inventory.cards.values():
        if card.ports:
            return card
    raise ScenarioError(
        "no card has ports", file=inventory.file, key="cards", allowed="a card with ports: [h1.data, ...]"
    )


def places(scenario: Scenario, inventory: Inventory, card: Card) -> dict[str, tuple[str, str]]:
    """Host of the scenario -> (host of the lab, its interface): the one behind the port of the card that the scenario's
    switch has it at. Raises ScenarioError."""
    (switch,) = scenario.topology.switches
    found = {}
    for port, link, _ in scenario.topology.ports(switch.name):
        if port >= len(card.ports):
            raise ScenarioError(
                f"card {card.name} has fewer ports than the scenario has hosts", file=inventory.file,
                key=f"cards.{card.name}.ports", found=str(len(card.ports)),
                allowed=f"{len(scenario.topology.hosts)} or more; or --set topology.hosts={len(card.ports)}",
            )  # fmt: skip
        found[link.a] = card.ports[port]
    used = [host for host, _ in found.values()]
    if len(set(used)) != len(used):
        raise ScenarioError(
            "two ports lead to one host", file=inventory.file, key=f"cards.{card.name}.ports", allowed="each host once"
        )
    return found


def localised(scenario: Scenario, facts: Mapping[str, InterfaceFacts]) -> Scenario:
    """The same scenario whose hosts have the MACs and, where there are any, the IP addresses of their interfaces.
    `facts`: by host of the scenario. Raises LabError when two have the same."""
    nodes, seen = [], dict[bytes, str]()
    for node in scenario.topology.nodes:
        found = facts.get(node.name)
        if found is not None:
            ip = ipaddress.ip_address(found.address).packed if found.address else node.ip
            node = replace(node, mac=bytes.fromhex(found.mac.replace(":", "")), ip=ip)
            for value in (node.mac, node.ip):
                other = seen.setdefault(value, node.name)
                if other != node.name:
                    problem = f"its data interface has the same address as that of {other}"
                    raise LabError(node.name, f"{problem}: {found.mac}, {found.address or 'without an IP address'}")
        nodes.append(node)
    return replace(scenario, topology=replace(scenario.topology, nodes=tuple(nodes)))


def worker_of(config: Any) -> WorkerConfig:
    """Raises ScenarioError for workers that a lab does not run."""
    if not isinstance(config, WorkerConfig) or config.phases:
        raise ScenarioError(
            "workers of this protocol do not run in a lab", key="job.protocol", allowed="netreduce, ring, shift"
        )
    return config
