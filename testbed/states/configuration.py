"""The scenario whose states are visited."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from testbed.scenario import Scenario, load_scenario

__all__ = ["small_scenario"]


def small_scenario(scenario: str, keys: Mapping[str, object], overrides: Sequence[str]) -> Scenario:
    """The scenario with other keys and without its faults. It has one iteration unless `overrides` say otherwise.
    Raises ScenarioError."""
    changed = {"job.iterations": 1, **keys}
    words = [*(f"{key}={value}" for key, value in changed.items()), *overrides]
    loaded = load_scenario(scenario, words, world="simulated")
    return replace(loaded, faults=(), capture=False, trace=False)
