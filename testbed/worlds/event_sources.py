"""The kinds of events that a node's process may send to be recorded. A record names the process's own node."""

from __future__ import annotations

from collections.abc import Mapping

import testbed.steering.events
from switch_nodes.events import ConfigRefused, PlaneStatistics, QueueMarks, SwitchSampled, SwitchStarted
from switch_nodes.program_events import PROGRAM_EVENTS
from testbed.faults.events import FaultHealed, FaultMissed, FaultStruck
from testbed.history import OwnEvent, Record
from testbed.history.eventkinds import host_kinds
from testbed.history.events import BarrierPassed, BarrierReached, CaptureCut, QueueDropped
from testbed.history.pfc_events import (
    BufferMeasured,
    FlowsPaused,
    LinkPaused,
    PauseAsked,
    PauseHeld,
    PfcDropped,
    PfcWatchdogActed,
    PfcWatchdogMeasured,
    PfcWatchdogRestored,
)
from workloads.machine import Event

__all__ = ["misplaced"]


def _all_of(module: object) -> frozenset[type]:
    return frozenset(value for value in vars(module).values() if isinstance(value, type) and issubclass(value, Event))


_OF_ANY: frozenset[type] = frozenset({PlaneStatistics, QueueMarks, FaultStruck, FaultMissed, FaultHealed, CaptureCut})
"""of data planes, of the filters at their ports, of their captures"""
_OF_PFC: frozenset[type] = frozenset({BufferMeasured, FlowsPaused, LinkPaused, PauseAsked, PfcDropped})
_OF_PFC_SWITCHES: frozenset[type] = frozenset(
    {PauseHeld, PfcWatchdogActed, PfcWatchdogMeasured, PfcWatchdogRestored, *_OF_PFC}
)
_KINDS_OF: Mapping[str, frozenset[type]] = {
    "host": _OF_ANY | _OF_PFC | {BarrierReached, BarrierPassed} | host_kinds(),
    "switch": _OF_ANY | _OF_PFC_SWITCHES | PROGRAM_EVENTS | {SwitchSampled, SwitchStarted, ConfigRefused, QueueDropped},
    "controller": _all_of(testbed.steering.events),
}


def misplaced(role: str, node: str, record: Record) -> str | None:
    """Why the process of `node` may not report a record; None: it may. `role`: host, switch or controller, which
    reports on the switches that it steers."""
    if type(record.event) not in _KINDS_OF[role] and not isinstance(record.event, OwnEvent):
        return f"the {role} {node} reported {record.name}, which a {role} must not report"
    if record.node != node and role != "controller":
        return f"the {role} {node} reported {record.name} in the name of {record.node}"
    return None
