"""Hunts in ESA: what is drawn, and the steps of its tables that no run takes."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from itertools import product

from switch_nodes.aggregators.checks import AGES, FREES
from switch_nodes.aggregators.tables import aggregator_table
from switch_nodes.jobs import AggregatorKnobs
from testbed.hunt.kinds import DatagramHunt
from testbed.hunt.search_mark import SearchMark
from testbed.protocols.parts.hunt_marks import SERVED_MARKS
from testbed.protocols.parts.hunt_server_steps import ONE_SIZE, SERVER_STEPS
from workloads.automaton import step_names

__all__ = ["HUNT"]

_NOT_STRICT = (
    "an ESA server knows that a switch may have sent the result of the block a window before, and refuses nothing"
)


def _pairs() -> Iterable[tuple[Enum, Enum]]:
    """Of the slots' table under any setting of the knobs."""
    for preempt, free, reclaim in product((True, False), FREES, (True, False)):
        knobs = AggregatorKnobs(preempt, AGES[0], free, ps_copy=True, reminder=True, reclaim=reclaim)
        yield from aggregator_table(knobs)


_MARKS = {
    "pushed out": SearchMark("a packet of higher priority takes a slot in use", ("slot filling/other_lower",)),
    "reminder of a whole sum": SearchMark("the server asks for a sum that is complete", ("slot done/reminder_own",)),
    "reminder too late": SearchMark(
        "the server asks a switch whose slot another block has",
        ("slot filling/reminder_other", "slot done/reminder_other"),
    ),
}

HUNT = DatagramHunt(
    {"float32": 41, "int32": 49, "int32sat": 10},
    (*step_names("slot", _pairs()), *SERVER_STEPS),
    {
        **dict.fromkeys(("slot filling/mismatch", "slot done/mismatch", "block open/mismatch"), ONE_SIZE),
        "block unknown/overrun": _NOT_STRICT,
    },
    marks={**SERVED_MARKS, **_MARKS},
)
