"""What a world found when it looked at its queues, slots and marks, in figures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from switch_nodes.events import SwitchSampled
from testbed.checkers.context import CheckContext
from testbed.history.events import QueuesSampled

__all__ = ["sampled_metrics"]

_MOST_NAMES = 32
"""links or switches that are named: those with most"""


def sampled_metrics(context: CheckContext) -> dict[str, Any] | None:
    """The `sampled` of the metrics; None for a run that did not look."""
    looks = [record.event for record in context.events(QueuesSampled)]
    if not looks:
        return None
    waiting, slots, marks = dict[str, int](), dict[str, int](), dict[str, int]()
    for look in looks:
        _raise(waiting, look.waiting)
    for record in context.events(SwitchSampled):
        _raise(marks, record.event.marks)
        if record.event.slots_in_use is not None:
            _raise(slots, {record.node: record.event.slots_in_use})
    return {
        "looks": len(looks),
        "every_s": looks[0].every_ns / 1e9,
        "most_waiting": _largest(waiting),
        "most_slots": _largest(slots),
        "marks": _largest(marks),
    }


def _largest(found: Mapping[str, int]) -> dict[str, int]:
    kept = sorted(found, key=lambda name: -found[name])[:_MOST_NAMES]
    return {name: found[name] for name in sorted(kept, key=lambda name: (len(name), name))}


def _raise(most: dict[str, int], found: Mapping[str, int]) -> None:
    for name, value in found.items():
        most[name] = max(most.get(name, 0), value)
