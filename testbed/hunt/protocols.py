"""What is hunted in beside NetReduce: the protocols whose workers send datagrams to slots of a switch.

To hunt in one more, add an entry to `PROTOCOLS`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from itertools import product

from switch_nodes.aggregators.checks import AGES, FREES
from switch_nodes.aggregators.policies import atp_knobs
from switch_nodes.aggregators.tables import aggregator_table
from switch_nodes.grid.layout import COLLISIONS
from switch_nodes.grid.tables import slot_table as grid_table
from switch_nodes.jobs import AggregatorKnobs
from switch_nodes.switchml.tables import SLOT_TABLE
from testbed.hunt.draw_fabric import FABRIC, RACK
from testbed.scenario.model import Scenario
from workloads.server.tables import BLOCK_TABLE, BlockState

__all__ = ["BLOCK_STEPS", "GRID", "PROTOCOLS", "Protocol", "kind_of_scenario", "protocol_of"]


GRID = "grid"


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
    server: bool = False
    """jobs have parameter servers, share all slots, and may span racks"""
    knobs: bool = False
    """those of AggregatorKnobs, and rules of priority"""
    impossible: Mapping[str, str] = field(default_factory=dict)
    """steps that no run takes, with reasons"""


def _names(table: str, pairs: Iterable[tuple[Enum, Enum]]) -> tuple[str, ...]:
    """By (state, event)."""
    return tuple(dict.fromkeys(f"{table} {state.name}/{event.name}".lower() for state, event in pairs))


def _esa_pairs() -> Iterable[tuple[Enum, Enum]]:
    """Under any setting of the knobs."""
    for preempt, free, reclaim in product((True, False), FREES, (True, False)):
        knobs = AggregatorKnobs(preempt, AGES[0], free, ps_copy=True, reminder=True, reclaim=reclaim)
        yield from aggregator_table(knobs)


BLOCK_STEPS = frozenset((state.name.lower(), event.name.lower()) for state, event in BLOCK_TABLE)
"""(state, event) of the steps of parameter servers; no slot of a switch takes any of these"""
_BLOCKS = _names("block", BLOCK_TABLE)
_INTEGERS = {"float32": 41, "int32": 49, "int32sat": 10}

_ONE_SIZE = "a block has one size at all of its workers, also when one starts anew: only forged packets differ"
_OVERRUN = (
    "who sends a block has the result of the one a window before; a packet that says otherwise fails credit_bound"
)
_NOT_STRICT = (
    "an ESA server knows that a switch may have sent the result of the block a window before, and refuses nothing"
)
_NO_PRIORITY = "packets of ATP have priority 0, all of them"
_NO_EARLY_RESULT = "no switch of ATP makes a result"
_NO_REMINDER = "an ATP server asks workers, never a switch, so that none answers that it has nothing"
_SIZES = dict.fromkeys(("slot filling/mismatch", "slot done/mismatch", "block open/mismatch"), _ONE_SIZE)
_STATES = tuple(state.name.lower() for state in BlockState)
_OF_ATP = {
    **_SIZES,
    "slot filling/other_lower": _NO_PRIORITY,
    "slot done/other_lower": _NO_PRIORITY,
    "block unknown/overrun": _OVERRUN,
    **{f"block {state}/copy": _NO_EARLY_RESULT for state in _STATES},
    **{f"block {state}/nothing_there": _NO_REMINDER for state in _STATES},
}
_NO_COPY = "no switch of GRID makes a result, and a worker gives its own away as a sum of all"
_OF_GRID = {
    "slot filling/mismatch": _ONE_SIZE,
    "block open/mismatch": _ONE_SIZE,
    "block unknown/overrun": _OVERRUN,
    **{f"block {state}/copy": _NO_COPY for state in _STATES},
    **{f"block {state}/nothing_there": _NO_REMINDER for state in _STATES},
}
_OF_ESA = {**_SIZES, "block unknown/overrun": _NOT_STRICT}
"""steps that no run of ATP, of GRID, of ESA, takes without a bug, whatever befalls it, and why; the cases of switch and server feed them"""

PROTOCOLS: Mapping[str, Protocol] = {
    protocol.name: protocol
    for protocol in (
        Protocol("switchml", {"float32": 45, "int32": 55}, 2, _names("slot", SLOT_TABLE)),
        Protocol(
            "atp",
            _INTEGERS,
            1,
            (*_names("slot", aggregator_table(atp_knobs())), *_BLOCKS),
            server=True,
            impossible=_OF_ATP,
        ),
        Protocol(
            "esa", _INTEGERS, 1, (*_names("slot", _esa_pairs()), *_BLOCKS), server=True, knobs=True, impossible=_OF_ESA
        ),
        Protocol(
            GRID,
            {"float32": 34, "int32": 54, "int32sat": 12},
            1,
            (*_names("slot", (pair for how in COLLISIONS for pair in grid_table(how))), *_BLOCKS),
            server=True,
            impossible=_OF_GRID,
        ),
    )
}


def protocol_of(scenario: Scenario) -> Protocol | None:
    """None: its workers talk over RC connections."""
    return PROTOCOLS.get(scenario.job.collective)


def kind_of_scenario(scenario: Scenario) -> str:
    """What a hunt in this scenario is a hunt in."""
    if scenario.job.collective in PROTOCOLS:
        return scenario.job.collective
    return RACK if len(scenario.topology.switches) == 1 else FABRIC
