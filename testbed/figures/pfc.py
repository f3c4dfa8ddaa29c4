"""What priority-based flow control did: pauses and paused time by link, headroom in use, drops, victims."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from testbed.checkers.context import CheckContext
from testbed.checkers.pfc_victims import victims_of
from testbed.history.pfc_events import (
    BufferMeasured,
    LinkPaused,
    PfcDeadlocked,
    PfcDropped,
    PfcWatchdogActed,
    PfcWatchdogMeasured,
    PfcWatchdogRestored,
)

__all__ = ["pfc_metrics"]


def pfc_metrics(context: CheckContext) -> dict[str, Any] | None:
    """The `pfc` of the metrics; None in a scenario without PFC. `paused_s`: sum over the pauses of a link direction and
    class; `share`: of the run; `by_root`: the same by what was congested."""
    if context.plan.scenario.pfc is None:
        return None
    end = max((record.t for record in context.history), default=0) or 1
    links: dict[str, dict[str, Any]] = {}
    for event in (record.event for record in context.events(LinkPaused)):
        entry = links.setdefault(f"{event.link} {event.direction}", {"pauses": 0, "ns": 0, "roots": defaultdict(int)})
        entry["pauses"] += 1
        entry["ns"] += event.until_ns - event.since_ns
        entry["roots"][event.root] += event.until_ns - event.since_ns
    victims = victims_of(context)
    measured = [record.event for record in context.events(BufferMeasured)]
    return {
        "pauses_asked": sum(each.pauses_sent for each in measured),
        "dropped_lossless": len(context.events(PfcDropped)),
        "dropped_by_buffers": sum(each.dropped for each in measured),
        "watchdog_acted": len(context.events(PfcWatchdogActed)),
        "watchdog_restored": len(context.events(PfcWatchdogRestored)),
        "watchdog_dropped": sum(record.event.dropped for record in context.events(PfcWatchdogMeasured)),
        "victim_flows": len({flow for flow, _, _, _ in victims}),
        "deadlock": next((list(record.event.cycle) for record in context.events(PfcDeadlocked)), None),
        "links": {
            name: {
                "pauses": entry["pauses"],
                "paused_s": entry["ns"] / 1e9,
                "share": entry["ns"] / end,
                "by_root": {root: ns / 1e9 for root, ns in sorted(entry["roots"].items())},
            }
            for name, entry in sorted(links.items())
        },
        "headroom": {
            f"{each.link} {each.direction} class {each.pfc_class}": {
                "bytes": each.headroom,
                "most_used": each.most_used,
            }
            for each in measured
            if each.headroom
        },
        "victims": [
            {"flow": flow, "link": link, "root": root, "waited_s": waited / 1e9} for flow, link, root, waited in victims
        ],
    }
