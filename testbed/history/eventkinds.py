"""The kinds of events that histories hold."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

import switch_nodes.events
import switch_nodes.fpga.events
import testbed.faults.events
import testbed.steering.events
import workloads.datagrams.blocks
import workloads.events
from testbed.history import events as of_worlds
from testbed.history import lab_events, training_events
from workloads.machine import Event

__all__ = ["KNOWN_KINDS", "event_kinds"]

_MODULES = (
    switch_nodes.events,
    switch_nodes.fpga.events,
    testbed.faults.events,
    lab_events,
    training_events,
    testbed.steering.events,
    of_worlds,
    workloads.datagrams.blocks,
    workloads.events,
)


@cache
def event_kinds() -> Mapping[str, type[Event]]:
    """All of ours, by name."""
    found = (value for module in _MODULES for value in vars(module).values())
    return {kind.__name__: kind for kind in found if isinstance(kind, type) and issubclass(kind, Event)}


KNOWN_KINDS: frozenset[type[Event]] = frozenset(event_kinds().values())
