"""Hunts in ATP: what is drawn, and the steps of its tables that no run takes."""

from __future__ import annotations

from switch_nodes.aggregators.tables import aggregator_table, atp_knobs
from testbed.hunt.kinds import DatagramHunt
from testbed.protocols.parts.hunt_marks import SERVED_MARKS
from testbed.protocols.parts.hunt_server_steps import NO_REMINDER, ONE_SIZE, OVERRUN, SERVER_STEPS, never_in_blocks

__all__ = ["HUNT"]

_NO_PRIORITY = "packets of ATP have priority 0, all of them"
_NO_EARLY_RESULT = "no switch of ATP makes a result"

HUNT = DatagramHunt(
    {"float32": 41, "int32": 49, "int32sat": 10},
    (*aggregator_table(atp_knobs()).steps, *SERVER_STEPS),
    {
        **dict.fromkeys(("slot filling/mismatch", "slot done/mismatch", "block open/mismatch"), ONE_SIZE),
        **dict.fromkeys(("slot filling/other_lower", "slot done/other_lower"), _NO_PRIORITY),
        "block unknown/overrun": OVERRUN,
        **never_in_blocks("copy", _NO_EARLY_RESULT),
        **never_in_blocks("nothing_there", NO_REMINDER),
    },
    marks=SERVED_MARKS,
)
