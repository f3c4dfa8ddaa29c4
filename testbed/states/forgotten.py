"""Parts of the Machines' state that never change what a Machine sends, or which of its timers expires first.

Each entry names a class and an attribute. Without these entries, counters would make every state a new one. Protocols
add their own (`Explored`). `tests/testbed/states/test_forgotten.py` holds all of them to that: states that differ only
here must take the same steps.
"""

from __future__ import annotations

from collections.abc import Mapping, Set

from switch_nodes.occupancy import Occupancy
from switch_nodes.program import ProgramBase
from testbed.states.contract import Explored, Instead
from workloads.datagrams.packet_window import PacketWindow
from workloads.datagrams.quick_host import QuickHost
from workloads.datagrams.retransmission import BackoffTimer, RetransmissionTimer
from workloads.datagrams.training import Training

__all__ = ["SAME", "Forgotten"]

SAME = object()
"""the value of the attribute itself"""
_STATISTICS: Mapping[type, tuple[str, ...]] = {
    QuickHost: ("_sent", "_sent_again", "_results", "_duplicates", "_timeouts", "_rejected"),
    Training: ("_completed_at", "_room"),
    PacketWindow: ("progress_at", "_first_at", "_timers", "_timer_count"),
    BackoffTimer: ("_hold_until", "_draw"),
    Occupancy: ("peak", "busy_ns", "useful_ns", "_since", "_all_ns"),
    ProgramBase: ("counters",),
}
_PINNED: Mapping[tuple[type, str], int] = {
    (RetransmissionTimer, "_round_trip_ns"): 0,
    (BackoffTimer, "_round_trip_ns"): 0,
    (BackoffTimer, "_backoff"): 0,
}


class Forgotten:
    """What stands for an attribute where states are compared."""

    def __init__(self, explored: Explored) -> None:
        self._entries: dict[tuple[type, str], Instead] = {
            (kind, name): _nothing
            for table in (_STATISTICS, explored.statistics)
            for kind, names in table.items()
            for name in names
        }
        self._entries |= explored.instead
        self.pinned: dict[tuple[type, str], int | None] = {**_PINNED, **explored.pinned}
        """as `Explored.pinned`"""
        self._of_kinds: dict[type, dict[str, Instead]] = {}

    @property
    def named(self) -> Set[tuple[type, str]]:
        """Classes, and their attributes that this table names."""
        return self._entries.keys() | self.pinned.keys()

    def __call__(self, thing: object, name: str) -> object:
        kind = type(thing)
        rules = self._of_kinds.get(kind)
        if rules is None:
            owners = reversed(kind.__mro__)
            rules = {at: instead for owner in owners for (of, at), instead in self._entries.items() if of is owner}
            self._of_kinds[kind] = rules
        found = rules.get(name)
        return SAME if found is None else found(thing)


def _nothing(_: object) -> None:
    """For statistics."""
