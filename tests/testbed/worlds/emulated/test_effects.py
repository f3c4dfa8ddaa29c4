"""What pauses and rate changes held up between namespaces."""

from __future__ import annotations

import os

from testbed.faults.events import NOTHING_CARRIED, NOTHING_HELD_UP, FaultMissed
from testbed.worlds.emulated.effects import Effects, frames_received
from workloads.machine import Event

PLACE = ("h1-s1", "up")


def test_a_pause_without_a_frame_held_up_nothing() -> None:
    told: list[Event] = []
    counts = {1: 10, 2: 20}
    effects = Effects(told.append, lambda pid: counts[pid])
    effects.begin_pause("short", "h1", 1)
    effects.begin_pause("long", "h2", 2)
    effects.end_pause("h1")
    counts[2] += 1
    effects.end_pauses()
    effects.end_pause("h1")
    assert told == [FaultMissed("short", "pause", "h1", "", 1, NOTHING_HELD_UP)]


def test_of_a_process_that_is_gone_nothing_is_told() -> None:
    told: list[Event] = []

    def gone(pid: int) -> int:
        raise FileNotFoundError(pid)

    effects = Effects(told.append, gone)
    effects.begin_pause("f", "h1", 1)
    effects.end_pause("h1")
    assert told == []


def test_a_rate_counts_while_something_was_carried() -> None:
    told: list[Event] = []
    effects = Effects(told.append)
    effects.begin_rate("a", PLACE, 100)
    effects.end_rate("a", PLACE, 100)
    effects.begin_rate("b", PLACE, 100)
    effects.begin_rate("c", ("h1-s1", "down"), 7)
    effects.end_rates(PLACE, 101)
    effects.end_rates(("h1-s1", "down"), 7)
    effects.end_rate("never begun", PLACE, 5)
    assert [(event.fault, event.direction, event.why) for event in told if isinstance(event, FaultMissed)] == [
        ("a", "up", NOTHING_CARRIED), ("c", "down", NOTHING_CARRIED),
    ]  # fmt: skip


def test_frames_are_counted_by_the_namespace() -> None:
    assert frames_received(os.getpid()) >= 0
