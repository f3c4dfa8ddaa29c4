"""What is hunted in: racks and fabrics of NetReduce, and the protocols whose workers send datagrams to slots of a switch.

To hunt in one more datagram protocol, add an entry to `PROTOCOLS`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import Enum

from switch_nodes.switchml.tables import SLOT_TABLE
from testbed.hunt.draw_fabric import FABRIC, RACK
from testbed.scenario.model import Scenario

__all__ = ["PROTOCOLS", "Protocol", "kind_of_scenario", "protocol_of", "with_stock_program"]


@dataclass(frozen=True, slots=True)
class Protocol:
    """A datagram protocol. Its name is that of the collective, of the switch program, and of the kind of hunt."""

    name: str
    dtypes: Mapping[str, int]
    """that it sums, with weights"""
    values_per_index: int
    """values of memory that an index takes"""
    steps: tuple[str, ...]
    """names of the steps that `SlotChanged` may tell"""
    impossible: Mapping[str, str]
    """steps that no run takes, with reasons"""


def _steps(pairs: Iterable[tuple[Enum, Enum]]) -> tuple[str, ...]:
    """By (state, event)."""
    return tuple(f"slot {state.name}/{event.name}".lower() for state, event in pairs)


PROTOCOLS: Mapping[str, Protocol] = {
    protocol.name: protocol
    for protocol in (
        Protocol("switchml", {"float32": 45, "int32": 55}, values_per_index=2, steps=_steps(SLOT_TABLE), impossible={}),
    )
}


def protocol_of(scenario: Scenario) -> Protocol | None:
    """None: its workers talk over RC connections."""
    return PROTOCOLS.get(scenario.job.collective)


def with_stock_program(scenario: Scenario) -> Scenario:
    """With the program of ours that serves it in place of code from a file, which no scenario file can name."""
    if ":" not in scenario.switch.program:
        return scenario
    protocol = protocol_of(scenario)
    program = "netreduce" if protocol is None else protocol.name
    return replace(scenario, switch=replace(scenario.switch, program=program))


def kind_of_scenario(scenario: Scenario) -> str:
    """What a hunt in this scenario is a hunt in."""
    if scenario.job.collective in PROTOCOLS:
        return scenario.job.collective
    return RACK if len(scenario.topology.switches) == 1 else FABRIC
