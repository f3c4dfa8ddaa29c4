"""What the connections of one ring carry, by `CollectiveConfig.kind`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["RingKind", "ring_kind", "sent_share"]


@dataclass(frozen=True, slots=True)
class RingKind:
    in_messages: bool = False
    """the gradient in messages, a window of them at a time; for each, another message comes back"""
    is_summed: bool = False
    """what comes back is the sum that a switch made"""
    parts_sent: int | None = None
    """how often each rank sends (P - 1) / P of a gradient; None: it sends it once"""


_KINDS: Mapping[str, RingKind] = {
    "netreduce": RingKind(in_messages=True, is_summed=True),
    "shift": RingKind(in_messages=True),
    "ring": RingKind(parts_sent=2),
    "reduce_scatter": RingKind(parts_sent=1),
    "all_gather": RingKind(parts_sent=1),
    "chain_reduce": RingKind(parts_sent=0),
    "chain_broadcast": RingKind(parts_sent=0),
    "exchange": RingKind(parts_sent=2),
    "collect": RingKind(parts_sent=0),
    "ready": RingKind(parts_sent=0),
}


def ring_kind(kind: str) -> RingKind:
    """Of a collective that runs on several rings, and of one that runs on none: what their phases, or jobs, say."""
    return _KINDS.get(kind, RingKind())


def sent_share(kind: str, ranks: int) -> float:
    """Of a vector, that each rank sends on its connection: all of it, or (P - 1) / P of it once or twice."""
    times = ring_kind(kind).parts_sent
    return 1.0 if times is None else times * (ranks - 1) / ranks
