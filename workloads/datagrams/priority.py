"""Whose packets deserve the switch's memory: the priority of ESA packets, 0 .. 255, larger wins.

The paper's formula is not known to us; these rules are ours (protocol text, section 4.2). A rule is a function from
what a worker knows to a number. A larger number is more urgent. `quantise` maps it to 8 bits, with 16 steps per
doubling: min(255, floor(16 log2(1 + x / x0))). The value x0 can be set. Jobs that are compared must use the same x0.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from workloads.errors import ScenarioError

__all__ = [
    "LEAST_X0",
    "MOST_X0",
    "PRIORITIES",
    "TIMELESS",
    "Outlook",
    "PriorityRule",
    "priority_of",
    "quantise",
    "register_priority",
]


@dataclass(frozen=True, slots=True)
class Outlook:
    """What a worker knows when a packet leaves."""

    layer: int
    """layer of the packet's elements; 0: the first of the model, whose result is needed first"""
    layers: int
    communication_ns: int
    """time of the last iteration from when its first packet might leave to its last result; 0 before there was one"""
    computation_ns: int
    """time of one iteration for forward and backward through all layers; without layers, all time without
    communication"""
    remaining_bytes: int
    """bytes of gradients that the job still has to sum, in all iterations"""
    served_bytes: int
    """bytes of gradients that the job has summed"""


LEAST_X0, MOST_X0 = 1e-12, 1e6
"""limits of x0; the scales of the rules begin at 1, or at one part of 16 MiB"""

Measure = Callable[[Outlook], float]


@dataclass(frozen=True, slots=True)
class PriorityRule:
    """Either a measure and where its scale begins, or two rules. The first of two rules counts more."""

    measure: Measure
    x0: float
    minor: PriorityRule | None = None
    """fills the low 4 bits, this one the high 4"""


_SCALE_BYTES = 1 << 24
"""16 MiB to go, or served, are the beginning of the scale"""


def _communication(outlook: Outlook) -> float:
    """Time to communicate for each time unit of computation; 1 before anything is known."""
    if not outlook.communication_ns:
        return 1.0
    return outlook.communication_ns / max(1, outlook.computation_ns)


_EQUAL = PriorityRule(lambda outlook: 0.0, 1.0)
_LAYER = PriorityRule(lambda outlook: float(outlook.layers - outlook.layer), 1.0)
_COMM = PriorityRule(_communication, 1.0)
_SRPT = PriorityRule(lambda outlook: 1 / max(1, outlook.remaining_bytes), 1 / _SCALE_BYTES)
_LAS = PriorityRule(lambda outlook: 1 / max(1, outlook.served_bytes), 1 / _SCALE_BYTES)

PRIORITIES: dict[str, PriorityRule] = {
    "equal": _EQUAL,
    "layer": _LAYER,
    "comm": _COMM,
    "srpt": _SRPT,
    "las": _LAS,
    "esa-default": PriorityRule(_communication, 1.0, minor=_LAYER),
}


TIMELESS = frozenset(("equal", "layer"))
"""rules by which a packet has the same priority in every run"""


def register_priority(name: str, rule: PriorityRule) -> None:
    """Raises ValueError when the name is taken."""
    if name in PRIORITIES:
        raise ValueError(f"there is a priority rule {name} already")
    PRIORITIES[name] = rule


def priority_of(name: str, x0: float | None = None) -> Callable[[Outlook], int]:
    """The rule of that name as a function to 0 .. 255; `x0` replaces the one of its (major) scale. Raises ScenarioError
    for a name that does not exist."""
    rule = PRIORITIES.get(name)
    if rule is None:
        raise ScenarioError(
            "there is no such rule of priority", key="job.priority", found=f"'{name}'", allowed=", ".join(PRIORITIES)
        )
    start, minor = rule.x0 if x0 is None else x0, rule.minor
    if minor is None:
        return lambda outlook: quantise(rule.measure(outlook), start)
    return lambda outlook: (
        quantise(rule.measure(outlook), start) & 0xF0 | quantise(minor.measure(outlook), minor.x0) >> 4
    )


def quantise(x: float, x0: float) -> int:
    """x >= 0, x0 > 0, however small."""
    return math.floor(min(255.0, 16 * math.log2(1 + x / x0)))
