"""What queues did to frames: dropped them, cut them down to their headers, or dropped them early for their class."""

from __future__ import annotations

from collections import Counter
from typing import Any

from testbed.checkers.context import CheckContext
from testbed.history.events import QueueDropped, ShapingMeasured

__all__ = ["queue_metrics"]


def queue_metrics(context: CheckContext) -> dict[str, Any] | None:
    """The `queues` of the metrics; None where no queue trims or knows classes and none was full. Frames of other
    tenants count."""
    measured = [record.event for record in context.events(ShapingMeasured)]
    lossy = [each for each in measured if each.drops or each.trimmed or each.early]
    shapes = [link.shape for link in context.plan.scenario.topology.links]
    knows_classes = any(shape.knows_classes for shape in shapes)
    if not lossy and not knows_classes and not any(shape.trims for shape in shapes):
        return None
    found: dict[str, Any] = {
        "dropped": sum(each.drops for each in lossy),
        "trimmed": sum(each.trimmed for each in lossy),
        "links": {f"{each.link} {each.direction}": {"dropped": each.drops, "trimmed": each.trimmed} for each in lossy},
    }
    if knows_classes:
        found["early"] = sum(each.early for each in lossy)
        found["by_dscp"] = _by_dscp(context)
    return found


def _by_dscp(context: CheckContext) -> dict[str, dict[str, dict[str, int]]]:
    """`LINK DIRECTION` -> DSCP -> what queues that know classes did not take: dropped early, or because they were
    full."""
    counts = Counter(
        (f"{event.link} {event.direction}", event.dscp, event.early)
        for event in (record.event for record in context.events(QueueDropped))
    )
    found: dict[str, dict[str, dict[str, int]]] = {}
    for place, dscp, _ in sorted(counts):
        early, full = counts[place, dscp, True], counts[place, dscp, False]
        found.setdefault(place, {})[str(dscp)] = {"early": early, "full": full}
    return found
