"""Events that receivers of a DLCP job report about flows."""

from __future__ import annotations

from dataclasses import dataclass

from workloads.machine import Event, unless_default

__all__ = ["FlowClosed", "SumParts"]


@dataclass(frozen=True, slots=True)
class FlowClosed(Event):
    """Enough packets of a flow are there: these count, and no other."""

    job: int
    iteration: int
    sender: int
    """rank"""
    packets: int
    """M: that the flow has"""
    counted: int
    """packets that were there"""
    bitmap: str
    """bitmap of those packets: packet k is bit k of this hexadecimal number"""
    step: int = unless_default(0)
    """step of a ring, from 0"""


@dataclass(frozen=True, slots=True)
class SumParts(Event):
    """How the server made a sum where switches add on the way: it adds the parts in this order."""

    job: int
    block: int
    parts: tuple[int, ...]
    """bitmaps of ranks, by their lowest rank; a part of several was added by rank"""
