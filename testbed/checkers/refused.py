"""Results that came and that a worker could not take: who refused how many, and why."""

from __future__ import annotations

from typing import TypedDict

from testbed.checkers.context import CheckContext
from testbed.terminal.numbers import moment
from testbed.terminal.words import amount, times
from workloads.events import FrameRejected

__all__ = ["RefusedResults", "refused_results", "refused_text"]

_BAD_RESULT = "bad_result"
_NAMED = 8


class RefusedResults(TypedDict):
    count: int
    first: str
    """what was wrong with the first one"""
    first_s: float


def refused_results(context: CheckContext) -> dict[str, RefusedResults]:
    """By worker, in the order of their first one. Workers over datagrams throw such a result away and ask again; over
    RoCE the first one ends the worker, which says so itself."""
    found: dict[str, RefusedResults] = {}
    for record in context.events(FrameRejected):
        if record.event.reason == _BAD_RESULT:
            first: RefusedResults = {"count": 0, "first": record.event.detail, "first_s": record.t / 1e9}
            found.setdefault(record.node, first)["count"] += 1
    return found


def refused_text(found: dict[str, RefusedResults]) -> str:
    """As `2,202 results came and were refused as bad_result (h1 551x, ...), the first by h1 at 0.012 s: block 0 with
    ...`; empty where there was none."""
    if not found:
        return ""
    total = sum(each["count"] for each in found.values())
    who = ", ".join(f"{name} {times(each['count'])}" for name, each in list(found.items())[:_NAMED])
    more = f" and {len(found) - _NAMED} more" if len(found) > _NAMED else ""
    name, each = next(iter(found.items()))
    were = "came and was" if total == 1 else "came and were"
    return (
        f"{amount(total, 'result')} {were} refused as {_BAD_RESULT} ({who}{more}), the first by {name} at "
        f"{moment(each['first_s'] * 1e9)}: {each['first']}"
    )
