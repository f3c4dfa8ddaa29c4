"""The kinds of events that histories hold."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType

import switch_nodes.events
import switch_nodes.fpga.events
import testbed.faults.events
import testbed.steering.events
import workloads.datagrams.blocks
import workloads.events
from testbed.history import events as of_worlds
from testbed.history import lab_events, pfc_events, training_events
from testbed.history.building import hasten
from workloads.machine import Event

__all__ = ["KNOWN_KINDS", "event_kinds", "host_kinds"]

_MODULES = (
    switch_nodes.events,
    switch_nodes.fpga.events,
    testbed.faults.events,
    lab_events,
    pfc_events,
    training_events,
    testbed.steering.events,
    of_worlds,
)


def _modules_of_hosts() -> Iterator[ModuleType]:
    """What all hosts report, and what those of single protocols do: `workloads/*/events.py`."""
    yield workloads.events
    yield workloads.datagrams.blocks
    for path in sorted(Path(workloads.events.__file__).parent.glob("*/events.py")):
        yield import_module(f"workloads.{path.parent.name}.events")


def _kinds_in(modules: Iterable[ModuleType]) -> frozenset[type[Event]]:
    found = (value for module in modules for value in vars(module).values())
    return frozenset(kind for kind in found if isinstance(kind, type) and issubclass(kind, Event))


@cache
def host_kinds() -> frozenset[type[Event]]:
    """Those that a host's Machine may report."""
    return _kinds_in(_modules_of_hosts())


@cache
def event_kinds() -> Mapping[str, type[Event]]:
    """All of ours, by name."""
    return {kind.__name__: kind for kind in _kinds_in(_MODULES) | host_kinds()}


KNOWN_KINDS: frozenset[type[Event]] = frozenset(event_kinds().values())

for _kind in KNOWN_KINDS:
    hasten(_kind)
