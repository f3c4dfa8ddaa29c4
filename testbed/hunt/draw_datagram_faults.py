"""Faults around a calm scenario of a datagram protocol: all kinds that apply to datagrams, several at once, each with
an end."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from random import Random

from testbed.faults.model import (
    Drop,
    Duplicate,
    Fault,
    Kill,
    Match,
    Pause,
    Reorder,
    Window,
)
from testbed.hunt.draw_faults import is_sensible
from testbed.hunt.fault_dice import FaultDice, drawn_once, kind_weights
from testbed.hunt.survival_datagrams import LOSES, copies_of, must_end_ns, travel_ns
from testbed.scenario.model import Scenario

__all__ = ["DatagramDice", "draw_datagram_faults"]

_COUNTS = {0: 4, 1: 28, 2: 32, 3: 21, 4: 10, 5: 5}
_MOST_ATTEMPTS = 2
"""faults that name attempts: each makes every round longer"""
_MOST_COPIES = 10
"""most copies that duplicates make of a packet and its answer"""


def draw_datagram_faults(draw: Random, scenario: Scenario) -> Scenario:
    """`scenario` with faults. A fault that does not fit with the others is omitted."""
    kinds: list[str] = []
    weights, once = kind_weights("datagrams"), drawn_once()
    for _ in range(draw.choices(list(_COUNTS), list(_COUNTS.values()))[0]):
        kind = draw.choices(list(weights), list(weights.values()))[0]
        if kind not in once or kind not in kinds:
            kinds.append(kind)
    maker = DatagramDice(draw, scenario)
    for kind in kinds:
        fault = maker.make(kind, f"{kind.replace('_', '-')}-{len(scenario.faults) + 1}")
        changed = replace(scenario, faults=(*scenario.faults, fault))
        if _fits(scenario, fault) and is_sensible(changed) and must_end_ns(changed) is not None:
            scenario = changed
    return scenario


def _fits(scenario: Scenario, fault: Fault) -> bool:
    others = scenario.faults
    if isinstance(fault, Pause | Kill):
        return not any(isinstance(other, Pause | Kill) for other in others)
    if copies_of(replace(scenario, faults=(*others, fault))) > _MOST_COPIES:
        return False
    named = [other for other in (*others, fault) if isinstance(other, LOSES) and other.match.attempt is not None]
    return len(named) <= _MOST_ATTEMPTS


class DatagramDice(FaultDice):
    """Faults that apply to datagrams."""

    delay_share = 8

    def __init__(self, draw: Random, scenario: Scenario) -> None:
        super().__init__(draw, scenario, scenario.transport.chosen_rto_ns, travel_ns(scenario))
        self.end = draw.choice((1, 2, 2, 4, 4, 8, 16)) * self.rto
        """what takes packets away has ended by then, from `origin` on"""
        self.origin = draw.randrange(12 * self.travel) if draw.random() < 0.3 else 0

    def own(self) -> Mapping[str, Callable[[str], Fault]]:
        return {"drop": self.drop, "duplicate": self.duplicate, "reorder": self.reorder}

    def window(self) -> Window:
        """Begins while the jobs may still run."""
        start = 0 if self.draw.random() < 0.3 else self.draw.randrange(max(1, min(self.end - 1, 6 * self.travel)))
        longest = self.draw.choice((self.end, start + self.travel, start + 4 * self.travel))
        longest = max(start + 1, min(self.end, longest))
        return Window(self.origin + start, self.origin + self.draw.randint(start + 1, longest))

    def match(self) -> Match:
        """Of a datagram only the attempt is known."""
        return Match() if self.draw.random() < 0.7 else Match(attempt=self.draw.choice((1, 1, 2, 3)))

    def drop(self, name: str) -> Drop:
        links, directions = self.where()
        if self.draw.random() < 0.3:
            return Drop(name, links, directions, self.window())
        return Drop(name, links, directions, match=Match(attempt=self.draw.choice((1, 1, 1, 2, 3))))

    def duplicate(self, name: str) -> Duplicate:
        """Copies may come when their slots have served others, and when their jobs are over."""
        draw, rto = self.draw, self.rto
        later = draw.choice(
            (0, draw.randint(0, self.travel), draw.randint(0, 6 * self.travel), draw.randint(0, 4 * rto))
        )
        return Duplicate(name, *self.where(), self.maybe(), self.match(), self.rate(0.02, 1.0), later)

    def reorder(self, name: str) -> Reorder:
        """Some as much too late as copies are."""
        longest = self.draw.choice((self.travel, self.travel, 4 * self.travel, 2 * self.rto))
        held = self.draw.randint(1, longest)
        return Reorder(name, *self.where(), self.maybe(), self.match(), self.rate(0.02, 0.6), held)

    def node(self) -> str:
        """A switch as often as all hosts."""
        topology = self.scenario.topology
        return self.draw.choice(topology.switches if self.draw.random() < 0.5 else topology.hosts).name
