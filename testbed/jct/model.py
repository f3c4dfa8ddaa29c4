"""The parts of a job completion time. `docs/jct-parts.md` defines them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

__all__ = ["PARTS", "JctPart", "JctParts", "Span", "total"]


class JctPart(StrEnum):
    """What a job, or one worker, did or waited for."""

    COMPUTING = "computing"
    SERIALISATION = "serialisation"
    PROPAGATION = "propagation"
    QUEUEING = "queueing"
    CREDIT = "credit"
    TIMERS = "timers"
    SLOWEST = "slowest"
    PAUSED = "paused"
    OTHER = "other"


PARTS = tuple(JctPart)

Span = tuple[JctPart, int, int]
"""(part, from, until: ns)"""


@dataclass(frozen=True, slots=True)
class JctParts:
    """ns by part, all parts each time. Their sums are the job completion time."""

    path: Mapping[JctPart, int] = field(default_factory=dict)
    """On the critical path."""
    workers: Mapping[str, Mapping[JctPart, int]] = field(default_factory=dict)
    """By name, of each worker."""
    unknown: str = ""
    """Why nothing is known; empty: it is known."""


def total(spans: Iterable[Span]) -> dict[JctPart, int]:
    """ns by part."""
    found = dict.fromkeys(PARTS, 0)
    for part, since, until in spans:
        found[part] += until - since
    return found
