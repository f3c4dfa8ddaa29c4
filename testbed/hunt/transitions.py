"""The steps that the tables hold, by name, and those that cannot happen in a rack, with the reason.

A name is `table state/event`, as `requester sending/ack_some`; of the frame table `frame kind`.
"""

from __future__ import annotations

from collections.abc import Mapping

from switch_nodes.netreduce.tables import CONNECTION_TABLE, FRAME_TABLE, SLOT_TABLE
from testbed.history import Record
from workloads.rc.requester_table import REQUESTER_TABLE
from workloads.rc.responder_table import RESPONDER_TABLE

__all__ = ["IMPOSSIBLE", "TRANSITIONS", "step_of"]

TRANSITIONS: tuple[str, ...] = (
    *(f"requester {state.name}/{event.name}".lower() for state, event in REQUESTER_TABLE),
    *(f"responder {state.name}/{event.name}".lower() for state, event in RESPONDER_TABLE),
    *(f"frame {kind.name}".lower() for kind in FRAME_TABLE),
    *(f"connection {state.name}/{event.name}".lower() for state, event in CONNECTION_TABLE),
    *(f"slot {state.name}/{event.name}".lower() for state, event in SLOT_TABLE),
)


def step_of(record: Record) -> str | None:
    """The name of the step that a record of a traced run tells; None for other records."""
    event = record["event"]
    if event == "QpStepped":
        return f"{record['side']} {record['state']}/{record['cause']}"
    if event == "FrameStepped":
        return f"frame {record['kind']}"
    if event == "ConnectionStepped":
        return f"connection {record['state']}/{record['cause']}"
    if event == "SlotStepped":
        return f"slot {record['state']}/{record['cause']}"
    return None


IMPOSSIBLE: Mapping[str, str] = {}
