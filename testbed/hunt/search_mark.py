"""A mark of a protocol: a state of trouble that a search should reach sometimes. `testbed.hunt.marks` finds them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from workloads.machine import Event

__all__ = ["Look", "SearchMark"]

Look = Callable[[Event], bool]
"""gets the events of one run in order, of the kinds that its mark names; returns whether the mark is reached now"""


@dataclass(frozen=True, slots=True)
class SearchMark:
    """Reached where a table takes one of `steps`, or where `look` says so."""

    meaning: str
    steps: tuple[str, ...] = ()
    """names of steps, as `slot done/stale`"""
    events: tuple[type[Event], ...] = ()
    """kinds of events that `look` gets"""
    look: Callable[[], Look] | None = None
    """makes what looks at one run"""
