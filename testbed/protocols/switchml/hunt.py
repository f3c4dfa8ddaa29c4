"""Hunts in SwitchML: what is drawn."""

from __future__ import annotations

from switch_nodes.switchml.tables import LEAF_SLOT_TABLE, SLOT_TABLE
from testbed.hunt.kinds import DatagramHunt
from testbed.hunt.marks import ASKED_TWICE, RESULT_UNDER_WAY
from testbed.hunt.search_mark import SearchMark
from workloads.automaton import step_names

__all__ = ["HUNT"]

_MARKS = {
    "timer with the sum under way": RESULT_UNDER_WAY,
    "sum sent three times": ASKED_TWICE,
    "copy in a reused slot": SearchMark(
        "a retransmission meets a slot that a newer block took", ("slot filling/stale", "slot done/stale")
    ),
    "copy when all moved on": SearchMark("a retransmission comes when every worker has the sum", ("slot free/stale",)),
}

HUNT = DatagramHunt(
    {"float32": 45, "int32": 55},
    step_names(SLOT_TABLE.name, LEAF_SLOT_TABLE),
    values_per_index=2,
    spans_racks=True,
    marks=_MARKS,
)
