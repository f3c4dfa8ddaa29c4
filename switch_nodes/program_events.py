"""What a switch program may report, and what it may not: facts about workers, faults and data planes come from those
alone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any

import switch_nodes.events as of_switches
import switch_nodes.fpga.events as of_cards
from workloads.datagrams import blocks
from workloads.machine import Event
from workloads.ownvalues import shown

__all__ = ["PROGRAM_EVENTS", "check_program_event"]

_OURS = frozenset(("switch_nodes", "testbed", "topologies", "workloads"))
_OF_OTHERS = frozenset(
    {
        of_switches.ConfigRefused, of_switches.PlaneStatistics, of_switches.QueueMarks, of_switches.SwitchSampled,
        of_switches.SwitchStarted,
        blocks.BlockLost, blocks.JobResumed, blocks.ServerStarted, blocks.ServerStatistics,
    }
)  # fmt: skip
"""events of data planes, `tb switch` and parameter servers"""
_HEAD = ("t", "node", "event")
"""fields of each record, which who records it fills"""

PROGRAM_EVENTS: frozenset[type] = frozenset(
    kind
    for module in (of_switches, of_cards, blocks)
    for kind in vars(module).values()
    if isinstance(kind, type) and issubclass(kind, Event) and kind is not Event and kind not in _OF_OTHERS
)

_accepted: set[tuple[type, str]] = set()
"""kinds of users' own that were looked at, by the name that they had then"""


def check_program_event(event: Any) -> None:
    """Raises TypeError for what is no event. Raises ValueError for an event that a program may not report. That is an
    event of ours that others report, or a user's class that has its name or sets what a record's head says."""
    kind = type(event)
    if kind not in PROGRAM_EVENTS and (kind, kind.__name__) not in _accepted:
        _check_kind(kind, event)
        _accepted.add((kind, kind.__name__))


def _check_kind(kind: type, event: Any) -> None:
    if isinstance(event, type) or not is_dataclass(kind):
        raise TypeError(f"the reported value is no event: found {shown(event)}, allowed are dataclasses")
    name = kind.__name__
    if name in _names_of_ours():
        whose = (
            "of another class than ours"
            if name in {ours.__name__ for ours in PROGRAM_EVENTS}
            else "which others report"
        )
        raise ValueError(
            f"it reported {name}, {whose}; a switch program reports events of its own and "
            f"{', '.join(sorted(ours.__name__ for ours in PROGRAM_EVENTS if not ours.__name__.startswith('_')))}"
        )
    taken = [field.name for field in fields(kind) if field.name in _HEAD]
    if taken:
        raise ValueError(f"event {name} has a field {taken[0]}, which who records it fills; allowed is any other name")


def _names_of_ours() -> frozenset[str]:
    """Also of those that no program may report, so that none takes their names."""
    return frozenset(kind.__name__ for kind in _below(Event) if kind.__module__.partition(".")[0] in _OURS)


def _below(kind: type) -> Iterator[type]:
    subclasses: list[type] = kind.__subclasses__()
    for each in subclasses:
        yield each
        yield from _below(each)
