"""One schedule: what is run and judged."""

from __future__ import annotations

from dataclasses import dataclass

from testbed.scenario.model import Scenario

__all__ = ["Schedule"]


@dataclass(frozen=True, slots=True)
class Schedule:
    """Number `number` of a hunt: a pure function of (base scenario, program, seed of the hunt, number)."""

    number: int
    scenario: Scenario
    """`trace` is set on a fixed share of them"""
