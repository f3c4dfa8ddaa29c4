"""What a fast path reports of one protocol."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["ScaleOutcome"]


@dataclass(frozen=True, slots=True)
class ScaleOutcome:
    seconds: float
    """time from the start until the last rank has its whole result"""
    packet_hops: int = 0
    """packets times links that were stood for; the flow level and formulas have no packets: 0"""
    events: int = 0
    """events that were handled to get there"""
    sent_bytes: float = 0.0
    """payload that the busiest rank gave to its links"""
