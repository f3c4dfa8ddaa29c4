"""Faults around a calm scenario of GRID: those of the other datagram protocols, and failures of links and switches. A
failure lasts for a while or for good, so that there are new plans."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from random import Random

from testbed.faults.kinds.link_down import draw_link_down
from testbed.faults.model import Fault, Kill, LinkDown, Pause, Window
from testbed.hunt.draw_datagram_faults import DatagramDice
from testbed.hunt.draw_faults import is_sensible
from testbed.hunt.fault_dice import drawn_once, kind_weights
from testbed.hunt.survival_datagrams import LOSES, copies_of
from testbed.protocols.grid.hunt_survival import excused_in, last_plan_ns, must_end_ns
from testbed.scenario.model import Scenario

__all__ = ["draw_grid_faults", "with_limit"]

_COUNTS = {0: 4, 1: 28, 2: 32, 3: 21, 4: 10, 5: 5}
_OUTAGE, _OUTAGE_WEIGHT = "outage", 6
"""a link between switches goes away, so that there are new plans"""
_MOST_ATTEMPTS = 2
"""faults that name attempts: each makes every round longer"""
_MOST_COPIES = 10
"""most copies that duplicates make of a packet and its answer"""
_TIMEOUTS = 40
"""RTO that a run goes on after the last kill where no worker need finish"""


def draw_grid_faults(draw: Random, scenario: Scenario) -> Scenario:
    """`scenario` with faults. A fault that does not fit with the others is omitted."""
    kinds: list[str] = []
    weights, once = {**kind_weights("grid"), _OUTAGE: _OUTAGE_WEIGHT}, (*drawn_once(), _OUTAGE)
    for _ in range(draw.choices(list(_COUNTS), list(_COUNTS.values()))[0]):
        kind = draw.choices(list(weights), list(weights.values()))[0]
        if kind not in once or kind not in kinds:
            kinds.append(kind)
    dice = _GridDice(draw, scenario)
    for kind in kinds:
        fault = dice.make(kind, f"{kind.replace('_', '-')}-{len(scenario.faults) + 1}")
        changed = replace(scenario, faults=(*scenario.faults, fault))
        if _fits(scenario, fault) and is_sensible(changed) and _ends(changed):
            scenario = changed
    return scenario


def with_limit(scenario: Scenario) -> Scenario:
    """`scenario` with its time limit: the time by which it must have ended. Where no worker need finish, the limit is
    some time after that is clear."""
    end = must_end_ns(scenario)
    if excused_in(scenario):
        kills = (fault.window.stop_ns or fault.window.start_ns for fault in scenario.faults if isinstance(fault, Kill))
        late = max((last_plan_ns(scenario), *kills)) + _TIMEOUTS * scenario.transport.chosen_rto_ns
        end = late if end is None else min(end, late)
    assert end is not None, "no fault is drawn that has no end"
    return replace(scenario, time_limit_ns=end)


def _ends(scenario: Scenario) -> bool:
    return must_end_ns(scenario) is not None or bool(excused_in(scenario))


def _fits(scenario: Scenario, fault: Fault) -> bool:
    others = scenario.faults
    if isinstance(fault, Pause | Kill):
        return not any(isinstance(other, Pause | Kill) for other in others)
    if isinstance(fault, LinkDown) and any(isinstance(other, LinkDown) for other in others):
        return False
    if copies_of(replace(scenario, faults=(*others, fault))) > _MOST_COPIES:
        return False
    named = [other for other in (*others, fault) if isinstance(other, LOSES) and other.match.attempt is not None]
    return len(named) <= _MOST_ATTEMPTS


class _GridDice(DatagramDice):
    def __init__(self, draw: Random, scenario: Scenario) -> None:
        super().__init__(draw, scenario)
        switches = {node.name for node in scenario.topology.switches}
        self.trunks = tuple(link.name for link in scenario.topology.links if {link.a, link.b} <= switches)
        """links between switches"""

    def own(self) -> Mapping[str, Callable[[str], Fault]]:
        return {**super().own(), _OUTAGE: self.outage, "link_down": self.link_down, "kill": self.kill}

    def outage(self, name: str) -> Fault:
        """A link between switches, or in a rack any, is away, for good as often as not where there may be another
        way."""
        draw, window = self.draw, self.window()
        if not self.trunks:
            return LinkDown(name, (draw.choice(self.links),), window=window)
        stop = window.stop_ns if draw.random() < 0.4 else None
        count = 2 if len(self.trunks) > 3 and draw.random() < 0.2 else 1
        return LinkDown(name, tuple(draw.sample(self.trunks, count)), window=Window(window.start_ns, stop))

    def link_down(self, name: str) -> LinkDown:
        """Twice at most: each time there are two plans."""
        fault = draw_link_down(self, name)
        return replace(fault, count=min(2, fault.count))

    def kill(self, name: str) -> Kill:
        """Mostly who may come back, or be gone around."""
        draw, scenario = self.draw, self.scenario
        start = draw.randrange(draw.choice((1, 2, 4)) * self.travel)
        chance = draw.random()
        if chance < 0.5:
            node = draw.choice(scenario.topology.switches).name
        elif chance < 0.85:
            node = scenario.job.server
        else:
            node = draw.choice(scenario.ranks).name
        back = None if draw.random() < 0.25 else start + 1 + draw.randrange(2 * max(1, self.rto))
        return Kill(name, node, Window(start, back))
