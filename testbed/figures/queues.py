"""What full queues did to frames: dropped them, or cut them down to their headers."""

from __future__ import annotations

from typing import Any

from testbed.checkers.context import CheckContext
from testbed.history.events import ShapingMeasured

__all__ = ["queue_metrics"]


def queue_metrics(context: CheckContext) -> dict[str, Any] | None:
    """The `queues` of the metrics; None where no queue trims and none was full. Frames of other tenants count."""
    measured = [record.event for record in context.events(ShapingMeasured)]
    full = [each for each in measured if each.drops or each.trimmed]
    if not full and not any(link.shape.trims for link in context.plan.scenario.topology.links):
        return None
    return {
        "dropped": sum(each.drops for each in full),
        "trimmed": sum(each.trimmed for each in full),
        "links": {f"{each.link} {each.direction}": {"dropped": each.drops, "trimmed": each.trimmed} for each in full},
    }
