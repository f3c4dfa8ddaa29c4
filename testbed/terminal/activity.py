"""What this process is doing and how far it is, from any floor, for the one line that shows it (`ticker`)."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

__all__ = ["Activity", "State", "activities", "begin", "doing", "end", "guard", "hide", "shown_by"]


@dataclass(frozen=True, slots=True)
class State:
    text: str
    done: float | None = None
    """0 to 1; None: not known"""
    left_s: float | None = None
    """seconds that are left; None: as the part that is done says"""


class Activity:
    """One of them. It is compared by identity."""

    __slots__ = ("state",)

    def __init__(self, state: Callable[[], State]) -> None:
        self.state = state


guard = threading.RLock()
"""Held while activities begin, end and are shown: what an activity reads is there as long as it is shown."""
_activities: list[Activity] = []


def _nothing() -> None:
    """There is nothing to take away."""


_hide: Callable[[], None] = _nothing


def begin(state: Callable[[], State]) -> Activity:
    """`state` is called from another thread, and only reads."""
    activity = Activity(state)
    with guard:
        _activities.append(activity)
    return activity


def end(activity: Activity) -> None:
    """Harmless when it ended before."""
    with guard:
        if activity in _activities:
            _activities.remove(activity)
        if not _activities:
            hide()


@contextmanager
def doing(what: str | Callable[[], State]) -> Iterator[None]:
    """`what`: a phase by its name, or a function that returns how far it is."""
    state = State(what) if isinstance(what, str) else None
    activity = begin(lambda: state if state is not None else what())  # type: ignore[operator]
    try:
        yield
    finally:
        end(activity)


def hide() -> None:
    """Take away what shows the activities, for something else that is printed. It comes again while there are any."""
    _hide()


@contextmanager
def shown_by(hide: Callable[[], None]) -> Iterator[None]:
    """`hide`: of what shows them from now on."""
    global _hide
    before, _hide = _hide, hide
    try:
        yield
    finally:
        _hide = before


def activities() -> tuple[Activity, ...]:
    """Outermost first; to be called, and used, under `guard`."""
    return tuple(_activities)


def _in_a_child() -> None:
    """It has its own work, and no thread that shows it."""
    global _hide
    _activities.clear()
    _hide = _nothing
    guard.release()


if hasattr(os, "register_at_fork"):
    # A child starts with no lock held by a thread that it does not have, this one and that of the shown stream.
    os.register_at_fork(before=guard.acquire, after_in_parent=guard.release, after_in_child=_in_a_child)
