"""Dice for faults of any protocol: where, when, how much. Other modules say what a schedule bears, and how packets are
distinguished."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from functools import partial
from random import Random

from testbed.faults.base import Fault, Match, Window
from testbed.faults.kinds import FAULT_KINDS
from testbed.scenario.model import Scenario
from topologies import DIRECTIONS, Direction

__all__ = ["FaultDice", "drawn_once", "kind_weights"]

_ORDER = (
    "loss", "burst", "drop", "corrupt", "duplicate", "reorder", "delay", "ecn_mark", "link_down", "rate_change",
    "pause", "kill",
    "forge",
)  # fmt: skip
"""in which old seeds choose; other kinds stand behind them"""


def kind_weights(hunt: str) -> dict[str, int]:
    """How often a hunt draws each kind. `hunt`: a field of `Drawn`, as roce."""
    words = [*_ORDER, *(word for word in FAULT_KINDS if word not in _ORDER)]
    drawn = {word: FAULT_KINDS[word].drawn for word in words}
    weights = {word: 0 if how is None else getattr(how, hunt) for word, how in drawn.items()}
    return {word: weight for word, weight in weights.items() if weight}


def drawn_once() -> tuple[str, ...]:
    """Kinds that are drawn once, because two faults of the kind could contradict each other."""
    return tuple(word for word, kind in FAULT_KINDS.items() if kind.drawn is not None and kind.drawn.once)


class FaultDice(ABC):
    """What comes next must be drawn in this order for ever, or old seeds mean other schedules."""

    delay_share: int
    """a delay is this share of the timeout at most"""

    def __init__(self, draw: Random, scenario: Scenario, rto_ns: int, travel_ns: int) -> None:
        self.draw, self.scenario = draw, scenario
        self.links = tuple(link.name for link in scenario.topology.links)
        self.rto, self.travel = rto_ns, max(1, travel_ns)

    @abstractmethod
    def window(self) -> Window:
        """Ends soon enough; begins while jobs may still run."""

    @abstractmethod
    def match(self) -> Match: ...

    @abstractmethod
    def node(self) -> str:
        """That is paused or killed."""

    def where(self) -> tuple[tuple[str, ...], tuple[Direction, ...]]:
        draw = self.draw
        count = draw.choice((1, 1, 2, len(self.links), len(self.links)))
        chosen = set(draw.sample(self.links, min(count, len(self.links))))
        links = tuple(link for link in self.links if link in chosen)
        return links, draw.choice((DIRECTIONS, DIRECTIONS, (Direction.UP,), (Direction.DOWN,)))

    def maybe(self) -> Window:
        return self.window() if self.draw.random() < 0.4 else Window()

    def rate(self, low: float, high: float) -> float:
        """In thousandths, so that files read well."""
        return 1.0 if self.draw.random() < 0.12 else self.draw.randint(int(low * 1000), int(high * 1000)) / 1000

    def hold(self, share: int) -> int:
        return self.draw.randint(1, max(1, self.rto // share))

    def slowest_bps(self, links: tuple[str, ...]) -> int:
        return min(self.scenario.topology.link(link).shape.rate_bps for link in links)

    def make(self, kind: str, name: str) -> Fault:
        """A fault of that kind: as these dice know best (`own`), or as the kind itself says."""
        drawn = FAULT_KINDS[kind].drawn if kind in FAULT_KINDS else None
        maker = self.own().get(kind) or (drawn and drawn.fault and partial(drawn.fault, self))
        assert maker, f"no code draws a {kind}"
        return maker(name)

    def own(self) -> Mapping[str, Callable[[str], Fault]]:
        """By kind: name -> a fault."""
        return {}
