"""What papers claim, and whether measured gains bear it out.

A gain is the peer's figure divided by the subject's, above 1 where the subject is better. A place is one point of what
was varied, with the gains of its seeds. Its interval is the confidence interval of the median; without chance in a run,
it is the value itself. The rules are decided here, before any run:

- A figure is reproduced within `TOLERANCE`.
- A direction holds at a place if its whole interval is above 1.
- A place without enough valid runs makes the whole headline unknown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from typing import Protocol

from testbed.sweeps.statistics import summarise

__all__ = [
    "TOLERANCE",
    "Bearing",
    "Claim",
    "Exactly",
    "GainPoint",
    "Grows",
    "NoFigure",
    "Range",
    "UpTo",
    "Wins",
    "judged",
]

TOLERANCE = 0.05
"""share by which a measured figure may differ from a published one"""
_SHOWN = 6
"""most places that a verdict lists"""
_LEAST_RUNS = 3
"""runs of a place with an interval"""


class Bearing(StrEnum):
    """Whether a headline holds here."""

    REPRODUCED = "reproduced"
    DIRECTION = "direction holds"
    PART = "holds in part"
    NOT = "not reproduced"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class GainPoint:
    """One point of what was varied."""

    name: str
    gains: tuple[float, ...]
    """by seed; runs without a valid figure are missing"""
    exact: bool = False
    """no chance in the run: all seeds give the same, and one is enough"""

    @property
    def is_known(self) -> bool:
        return len(self.gains) >= (1 if self.exact else _LEAST_RUNS)

    @property
    def interval(self) -> tuple[float, float, float]:
        """(low, median, high). Raises ValueError without any run."""
        found = summarise(self.gains)
        if found is None:
            raise ValueError(f"{self.name}: no valid run")
        return found.low, found.median, found.high


class Claim(Protocol):
    """What was published. `stand`: (whether it holds, why) for places that are all known."""

    def stand(self, places: Sequence[GainPoint]) -> tuple[Bearing, str]: ...


def judged(claim: Claim, places: Sequence[GainPoint]) -> tuple[Bearing, str]:
    """The verdict of a headline, and why."""
    lacking = [place.name for place in places if not place.is_known]
    if lacking or not places:
        return Bearing.UNKNOWN, f"too few valid runs: {', '.join(lacking) or 'no place'}"
    return claim.stand(places)


def _direction(places: Sequence[GainPoint]) -> tuple[Bearing, str]:
    won = sum(place.interval[0] > 1 for place in places)
    if won == len(places):
        return Bearing.DIRECTION, f"better at {won} of {won} points"
    if won:
        worse = [place.name for place in places if not place.interval[0] > 1]
        more = f" and {len(worse) - _SHOWN} more" if len(worse) > _SHOWN else ""
        return Bearing.PART, f"better at {won} of {len(places)} points; not at {', '.join(worse[:_SHOWN])}{more}"
    return Bearing.NOT, f"better at 0 of {len(places)} points"


@dataclass(frozen=True, slots=True)
class UpTo:
    """The best gain is `most`."""

    most: float

    def stand(self, places: Sequence[GainPoint]) -> tuple[Bearing, str]:
        standing, why = _direction(places)
        best = max(places, key=lambda place: place.interval[1])
        low, middle, high = best.interval
        reached = low <= self.most * (1 + TOLERANCE) and high >= self.most * (1 - TOLERANCE)
        if standing is not Bearing.NOT and reached:
            return Bearing.REPRODUCED, f"the best gain is {middle:.2f}, at {best.name}; {why}"
        return standing, f"{why}; the best gain is {middle:.2f}, at {best.name}, not {self.most:.2f}"


@dataclass(frozen=True, slots=True)
class Range:
    """Gains lie between `least` and `most`."""

    least: float
    most: float

    def stand(self, places: Sequence[GainPoint]) -> tuple[Bearing, str]:
        inside = [place for place in places if place.interval[0] >= self.least and place.interval[2] <= self.most]
        if len(inside) == len(places):
            return Bearing.REPRODUCED, f"all {len(places)} intervals are in the published range"
        standing, why = _direction(places)
        return standing, f"{why}; {len(inside)} intervals are in the published range"


@dataclass(frozen=True, slots=True)
class Exactly:
    """The gain of each place, by name."""

    expected: Mapping[str, float]

    def stand(self, places: Sequence[GainPoint]) -> tuple[Bearing, str]:
        wrong = [place for place in places if not self._holds(place)]
        if not wrong:
            return Bearing.REPRODUCED, f"all {len(places)} figures within {TOLERANCE:.0%}"
        said = ", ".join(
            f"{place.name}: {place.interval[1]:.2f}, not {self.expected[place.name]:.2f}" for place in wrong
        )
        return (Bearing.NOT if len(wrong) == len(places) else Bearing.PART), said

    def _holds(self, place: GainPoint) -> bool:
        wanted, (low, _, high) = self.expected[place.name], place.interval
        return low >= wanted * (1 - TOLERANCE) and high <= wanted * (1 + TOLERANCE)


@dataclass(frozen=True, slots=True)
class Grows:
    """The gain grows from place to place."""

    def stand(self, places: Sequence[GainPoint]) -> tuple[Bearing, str]:
        if len(places) < 2:
            return Bearing.UNKNOWN, "one point cannot grow"
        steps = list(pairwise(places))
        grown = sum(after.interval[0] > before.interval[2] for before, after in steps)
        why = f"the gain grows in {grown} of {len(steps)} steps"
        if grown == len(steps):
            return Bearing.REPRODUCED, why
        return (Bearing.PART if grown else Bearing.NOT), why


@dataclass(frozen=True, slots=True)
class Wins:
    """The subject is better everywhere; no figure was published."""

    def stand(self, places: Sequence[GainPoint]) -> tuple[Bearing, str]:
        standing, why = _direction(places)
        return (Bearing.REPRODUCED if standing is Bearing.DIRECTION else standing), why


@dataclass(frozen=True, slots=True)
class NoFigure:
    """What we know of the paper names nothing that a run could confirm."""

    reason: str

    def stand(self, places: Sequence[GainPoint]) -> tuple[Bearing, str]:
        return Bearing.UNKNOWN, f"{self.reason}; here: {_direction(places)[1]}"
