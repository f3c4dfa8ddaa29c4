"""What the exploration asks of a protocol (`Protocol.states`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

__all__ = ["Explored", "Instead", "SmallSize"]

Instead: TypeAlias = Callable[[object], object]
"""the object that has an attribute -> what stands for the value of the attribute where states are compared"""


@dataclass(frozen=True, slots=True)
class SmallSize:
    """Of a configuration whose states are all visited."""

    workers: int
    slots: int
    blocks: int
    """of an iteration"""


@dataclass(frozen=True, slots=True)
class Explored:
    """How states of a protocol are visited."""

    scenario: str
    """name of the built-in scenario that the configuration is made of"""
    keys: Callable[[SmallSize], Mapping[str, object]]
    """keys of a scenario of that size"""
    statistics: Mapping[type, tuple[str, ...]] = field(default_factory=dict)
    """class -> attributes that change nothing of what its Machine does"""
    instead: Mapping[tuple[type, str], Instead] = field(default_factory=dict)
    """(class, attribute) -> what stands for the value, where more of it changes nothing"""
    pinned: Mapping[tuple[type, str], int | None] = field(default_factory=dict)
    """(class, attribute) -> value that it has again after each step: waits do not adapt, senders never give up"""
