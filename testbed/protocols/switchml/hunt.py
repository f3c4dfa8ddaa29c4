"""Hunts in SwitchML: what is drawn."""

from __future__ import annotations

from switch_nodes.switchml.tables import SLOT_TABLE
from testbed.hunt.kinds import DatagramHunt
from testbed.hunt.marks import ASKED_TWICE, RESULT_UNDER_WAY
from testbed.hunt.search_mark import SearchMark

__all__ = ["HUNT"]

_MARKS = {
    "timer with the sum under way": RESULT_UNDER_WAY,
    "sum sent three times": ASKED_TWICE,
    "copy in a reused slot": SearchMark(
        "a retransmission meets a slot that a newer block took", ("slot filling/stale", "slot done/stale")
    ),
    "copy when all moved on": SearchMark("a retransmission comes when every worker has the sum", ("slot free/stale",)),
}

HUNT = DatagramHunt({"float32": 45, "int32": 55}, SLOT_TABLE.steps, values_per_index=2, marks=_MARKS)
