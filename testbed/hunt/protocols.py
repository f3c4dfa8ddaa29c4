"""Protocols that are hunted in, in addition to NetReduce: protocols of datagrams that say how schedules are drawn for
them (`Protocol.hunt`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from testbed.hunt.draw_fabric import FABRIC, RACK
from testbed.scenario.known import protocol_of, protocols
from testbed.scenario.model import Scenario
from testbed.scenario.own_code import is_own_code
from testbed.scenario.own_definition import require_definition
from testbed.scenario.protocol import Hunt, Protocol
from workloads.server.tables import BLOCK_TABLE

__all__ = ["BLOCK_STEPS", "PROTOCOLS", "Hunted", "by_name", "hunted_in", "hunted_of", "kind_of_scenario"]

BLOCK_STEPS = frozenset((state.name.lower(), event.name.lower()) for state, event in BLOCK_TABLE)
"""(state, event) of the steps of parameter servers; no slot of a switch takes any of these"""


@dataclass(frozen=True, slots=True)
class Hunted:
    """A protocol as hunts see it. Its name is that of the collective, and of the kind of hunt."""

    name: str
    program: str
    """of its switches, usually"""
    hunt: Hunt
    server: bool
    """jobs have parameter servers, share all slots, and may span racks"""
    knobs: bool
    """those of AggregatorKnobs, and rules of priority"""
    operations: tuple[str, ...]
    """as those of `Protocol`"""

    @property
    def backs_off(self) -> bool:
        """Senders wait longer and longer."""
        return self.server or self.hunt.backs_off

    @property
    def dtypes(self) -> Mapping[str, int]:
        return self.hunt.dtypes

    @property
    def steps(self) -> tuple[str, ...]:
        return self.hunt.steps

    @property
    def impossible(self) -> Mapping[str, str]:
        return self.hunt.impossible

    @property
    def values_per_index(self) -> int:
        return self.hunt.values_per_index


def _seen(protocol: Protocol) -> Hunted | None:
    if protocol.hunt is None:
        return None
    traits = protocol.traits
    return Hunted(
        protocol.name, protocol.programs[0], protocol.hunt, traits.has_server, traits.has_priorities,
        protocol.operations,
    )  # fmt: skip


PROTOCOLS: Mapping[str, Hunted] = {
    hunted.name: hunted for protocol in protocols() if (hunted := _seen(protocol)) is not None
}
"""those of ours"""


def hunted_in(scenario: Scenario) -> Hunted | None:
    """None: its workers talk over RC connections."""
    return hunted_of(scenario.job.collective)


def hunted_of(kind: str) -> Hunted | None:
    """By the kind of a hunt; None: it is one of topology."""
    if kind in (RACK, FABRIC):
        return None
    if is_own_code(kind):
        require_definition(kind)
    return _seen(protocol_of(kind))


def by_name(reference: str) -> Any:
    """What a Hunt names as `module:function`."""
    module, _, name = reference.partition(":")
    return getattr(import_module(module), name)


def kind_of_scenario(scenario: Scenario) -> str:
    """What a hunt in this scenario is a hunt in."""
    if hunted_in(scenario) is not None:
        return scenario.job.collective
    return RACK if len(scenario.topology.switches) == 1 else FABRIC
