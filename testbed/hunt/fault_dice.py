"""Dice for faults of any protocol: where, when, how much. What a schedule bears, and how packets are told apart, others say."""

from __future__ import annotations

from abc import ABC, abstractmethod
from random import Random

from testbed.faults.model import Burst, Delay, Kill, LinkDown, Match, RateChange, Window
from testbed.scenario.model import Scenario
from topologies import DIRECTIONS, Direction

__all__ = ["FaultDice"]


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

    def burst(self, name: str) -> Burst:
        rate, recover = self.rate(0.02, 0.5), self.draw.randint(50, 900) / 1000
        bad, good = self.draw.choice((1.0, 0.8)), self.draw.choice((0.0, 0.0, 0.05))
        return Burst(name, *self.where(), self.window(), self.match(), rate, recover, bad, good)

    def delay(self, name: str) -> Delay:
        delay = self.hold(self.delay_share)
        return Delay(
            name, *self.where(), self.maybe(), self.match(), self.rate(0.1, 1.0), delay, self.draw.randint(0, delay)
        )

    def link_down(self, name: str) -> LinkDown:
        links, directions = self.where()
        window, count = self.window(), self.draw.choice((1, 1, 2, 4))
        assert window.stop_ns is not None
        if count == 1:
            return LinkDown(name, links, directions, window)
        length = max(1, (window.stop_ns - window.start_ns) // (2 * count))
        period = length + self.draw.randint(1, max(1, length))
        return LinkDown(
            name, links, directions, Window(window.start_ns, window.start_ns + length), count=count, period_ns=period
        )

    def rate_change(self, name: str) -> RateChange:
        links, directions = self.where()
        rate = min(self.scenario.topology.link(link).shape.rate_bps for link in links)
        return RateChange(name, links, directions, self.window(), max(1_000_000, rate // self.draw.choice((2, 2, 4))))

    def kill(self, name: str) -> Kill:
        start = self.draw.randrange(8 * self.travel)
        back = None if self.draw.random() < 0.4 else start + 1 + self.draw.randrange(2 * max(1, self.rto))
        return Kill(name, self.node(), Window(start, back))
