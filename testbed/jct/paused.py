"""When links were paused by PFC, for the parts of a job completion time."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Mapping, Sequence
from operator import itemgetter

from testbed.checkers.context import CheckContext
from testbed.history.pfc_events import LinkPaused
from testbed.jct.model import JctPart, Span

__all__ = ["LinkPauses", "during", "link_pauses"]

LinkPauses = Mapping[tuple[str, str], Sequence[Span]]
"""(link, direction) -> pauses in order, without overlaps; pauses of several classes are one"""
_end = itemgetter(2)


def link_pauses(context: CheckContext) -> dict[tuple[str, str], list[Span]]:
    """Times since the start of the traffic, in ns."""
    found: dict[tuple[str, str], list[Span]] = defaultdict(list)
    for event in sorted((record.event for record in context.events(LinkPaused)), key=lambda each: each.since_ns):
        spans = found[event.link, event.direction]
        if spans and event.since_ns <= spans[-1][2]:
            spans[-1] = JctPart.PAUSED, spans[-1][1], max(spans[-1][2], event.until_ns)
        else:
            spans.append((JctPart.PAUSED, event.since_ns, event.until_ns))
    return dict(found)


def during(pauses: Sequence[Span], since: int, until: int) -> list[Span]:
    """Those that overlap this time."""
    place, found = bisect_right(pauses, since, key=_end), list[Span]()
    while place < len(pauses) and pauses[place][1] < until:
        found.append(pauses[place])
        place += 1
    return found
