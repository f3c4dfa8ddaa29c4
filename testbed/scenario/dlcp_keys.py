"""The keys that collective `dlcp` adds to `job`."""

from __future__ import annotations

from dataclasses import dataclass

from testbed.reading.fields import ProbabilityKey
from testbed.reading.sections import Section

__all__ = ["DlcpKeys"]


@dataclass(frozen=True, slots=True)
class DlcpKeys(Section):
    """How much of a gradient may be missing, and which packets may be lost first."""

    loss_bound: ProbabilityKey = 0.01
    """p, below 1: a flow of M packets ends when ceil((1 - p) M) of them are there; what is missing counts as 0"""
    important: ProbabilityKey = 0.5
    """share of the packets of a flow, those with the largest elements, that is of the high class; queues that look at
    classes drop the others early"""
