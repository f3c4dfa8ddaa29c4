"""How much a search has not seen, from how often it saw what it saw.

All numbers are of fresh schedules alone. Those are drawn independently of each other, as the estimators require. The
schedules that a guided hunt mutates are not, so they count for what was reached and never for how sure that is.

- Next schedule: the share of schedules that hold a behaviour which no other one holds. It estimates how likely the next
  schedule brings something new (Good, Biometrika 40, 1953, with one schedule left out at a time). Its interval is
  Wilson's.
- Unseen share: Chao2 with its log-normal interval (Chao, Biometrics 43, 1987). It is a lower bound: behaviours that
  only very few schedules can reach leave no trace in the counts.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, log, sqrt
from statistics import NormalDist

__all__ = ["Unseen", "chao2", "wilson"]

_Z = NormalDist().inv_cdf(0.975)
"""of 95 %"""


@dataclass(frozen=True, slots=True)
class Unseen:
    """An estimate with its interval of 95 %."""

    value: float
    low: float
    high: float


def wilson(hits: int, of: int) -> Unseen:
    """The share of `hits` in `of` trials, 0 to 1."""
    if not of:
        return Unseen(1.0, 0.0, 1.0)
    share, square = hits / of, _Z * _Z
    middle, half = share + square / (2 * of), _Z * sqrt(share * (1 - share) / of + square / (4 * of * of))
    low, high = ((middle + side) / (1 + square / of) for side in (-half, half))
    return Unseen(share, 0.0 if not hits else low, 1.0 if hits == of else high)


def chao2(seen: int, once: int, twice: int, of: int) -> Unseen:
    """The share of all behaviours that is unseen. `seen` behaviours in `of` schedules, `once` of them in one schedule
    and `twice` in two."""
    if not seen:
        return Unseen(1.0, 0.0, 1.0)
    if not once:
        return Unseen(0.0, 0.0, 0.0)
    less = (of - 1) / of
    if twice:
        ratio = once / twice
        missing = less * once * ratio / 2
        variance = twice * (less / 2 * ratio**2 + less**2 * ratio**3 + less**2 / 4 * ratio**4)
    else:
        missing = less * once * (once - 1) / 2
        total = seen + missing
        variance = missing + less**2 * (once * (2 * once - 1) ** 2 / 4 - once**4 / (4 * total))
    if missing <= 0:
        return Unseen(0.0, 0.0, 0.0)
    spread = exp(_Z * sqrt(log(1 + max(0.0, variance) / missing**2)))
    return Unseen(*(few / (seen + few) for few in (missing, missing / spread, missing * spread)))
