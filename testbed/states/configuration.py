"""The scenario whose states are visited."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from testbed.scenario import Scenario, load_scenario
from testbed.states.contract import Explored, SmallSize

__all__ = ["keys_in_size", "small_scenario"]


def keys_in_size(explored: Explored, size: SmallSize) -> dict[str, object]:
    """Keys of the protocol's scenario in that size, with one iteration."""
    return {"job.iterations": 1, **explored.keys(size)}


def small_scenario(scenario: str, keys: Mapping[str, object], overrides: Sequence[str]) -> Scenario:
    """The scenario with other keys and without its faults. Raises ScenarioError."""
    words = [*(f"{key}={value}" for key, value in keys.items()), *overrides]
    loaded = load_scenario(scenario, words, world="simulated")
    return replace(loaded, faults=(), capture=False, trace=False)
