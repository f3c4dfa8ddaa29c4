"""What the world makes of the reports of its lossless nodes: causes of pauses, and links that wait for each other."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from operator import itemgetter

from testbed.history import Record, make_record
from testbed.history.pfc_events import BufferMeasured, LinkPaused, PauseAsked, PauseHeld
from testbed.plan import Plan
from testbed.scenario.model import Scenario
from testbed.scenario.own_program import own_code
from testbed.terminal.activity import doing
from testbed.worlds.emulated.lossless.held import find_deadlock
from testbed.worlds.simulated.lossless.without import first_loss, lossy

__all__ = ["PauseReports"]

_Paused = tuple[str, str, int]
"""(link, direction, class)"""


class PauseReports:
    """`on_record` gets what nodes reported. A pause is reported by the node that obeyed, and its cause by the one that
    asked, so that pauses are held until `finish`."""

    def __init__(self, scenario: Scenario, on_record: Callable[[Record], None]) -> None:
        self._scenario, self._on_record = scenario, on_record
        self._pauses: list[tuple[int, str, LinkPaused]] = []
        """time, node, pause"""
        self._asked = defaultdict[_Paused, list[tuple[int, PauseAsked]]](list)
        self._held: list[tuple[int, str, PauseHeld]] = []
        self._lost, self._engaged = False, False

    def hear(self, record: Record) -> None:
        """Give out a record, unless it is of a pause."""
        event = record.event
        if isinstance(event, LinkPaused):
            self._pauses.append((record.t, record.node, event))
            self._engaged = True
            return
        if isinstance(event, PauseAsked):
            self._asked[event.link, event.direction, event.pfc_class].append((record.t, event))
        elif isinstance(event, PauseHeld):
            self._held.append((record.t, record.node, event))
        self._engaged = self._engaged or (isinstance(event, BufferMeasured) and event.pauses_sent > 0)
        self._lost = self._lost or (isinstance(event, BufferMeasured) and event.dropped > 0)
        self._on_record(record)

    def finish(self) -> None:
        """All nodes have stopped: give out the pauses with their causes, and the circle."""
        for reports in self._asked.values():
            reports.sort(key=itemgetter(0))
        for at, node, event in self._pauses:
            root = self._root((event.link, event.direction, event.pfc_class), event.until_ns)
            self._on_record(make_record(at, node, replace(event, root=root)))
        self._pauses.clear()
        found = find_deadlock(self._scenario, self._held)
        if found is not None:
            self._on_record(make_record(found[0], "world", found[1]))

    def compare(self, plan: Plan, ended_ns: int) -> None:
        """Report what the same run in virtual time would have lost without PFC, where only that says if PFC was
        needed. Code of the user's own is not run here."""
        if self._engaged and not self._lost and own_code(plan.scenario) is None:
            from testbed.worlds.simulated.world import Simulation

            with doing("repeating the run without PFC, in virtual time"):
                self._on_record(first_loss(Simulation(lossy(plan), lambda record: None), ended_ns))

    def _root(self, place: _Paused, before: int) -> str:
        """What was congested when the last pause of a link that began before this time was asked for. Follows links
        that were paused themselves."""
        cause, seen = "", set[_Paused]()
        while place not in seen:
            seen.add(place)
            found = next((each for each in reversed(self._asked.get(place, [])) if each[0] <= before), None)
            if found is None:
                break
            before, asked = found
            cause = asked.cause
            if not asked.is_paused:
                break
            link, _, direction = cause.partition(" ")
            place = link, direction, asked.pfc_class
        return cause
