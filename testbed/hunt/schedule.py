"""One schedule: what is run and judged."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from testbed.plan import Plan
from testbed.scenario.model import Scenario

__all__ = ["Schedule", "Survival"]


@dataclass(frozen=True, slots=True)
class Survival:
    """Why a schedule of some protocol must end well."""

    may_fail: Callable[[Scenario], str | None]
    """why a reported failure (never a wrong sum) is allowed; None: everything must complete"""
    unsurvivable: Callable[[Scenario], str | None]
    """why the argument does not hold for a scenario; None: it does"""
    excused: Callable[[Plan], frozenset[str]]
    """workers that need not finish, where a failure is all right"""


@dataclass(frozen=True, slots=True)
class Schedule:
    """Number `number` of a hunt: a pure function of (base scenario, program, seed of the hunt, number)."""

    number: int
    scenario: Scenario
    """`trace` is set on a fixed share of them"""
