"""What the connections of one ring carry, by `CollectiveConfig.kind`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from workloads.config import PHASE_KINDS

__all__ = ["KINDS_OF_JOBS", "KINDS_OF_PHASES", "RingKind", "ring_kind", "sent_share"]


@dataclass(frozen=True, slots=True)
class RingKind:
    in_messages: bool = False
    """the gradient in messages, a window of them at a time; for each, another message comes back"""
    is_summed: bool = False
    """what comes back is the sum that a switch made"""
    parts_sent: int | None = None
    """how often each rank sends (P - 1) / P of a gradient; None: it sends it once"""
    is_chain: bool = False
    """every rank sends the gradient once to the next, but the last, which sends nothing"""
    spans_all: bool = False
    """a job's only ring may be of this kind, which then has all workers"""
    sums_all: bool = False
    """a phase may be of this kind: an all-reduce among its ranks"""


_KINDS: Mapping[str, RingKind] = {
    "netreduce": RingKind(in_messages=True, is_summed=True, spans_all=True, sums_all=True),
    "ring": RingKind(parts_sent=2, spans_all=True, sums_all=True),
    "ring_reduce_scatter": RingKind(parts_sent=1, spans_all=True),
    "ring_all_gather": RingKind(parts_sent=1, spans_all=True),
    "shift": RingKind(in_messages=True, spans_all=True),
    "reduce_scatter": RingKind(parts_sent=1),
    "all_gather": RingKind(parts_sent=1),
    "chain_reduce": RingKind(is_chain=True),
    "chain_broadcast": RingKind(is_chain=True),
    "exchange": RingKind(parts_sent=2),
    "swap": RingKind(),
    "collect": RingKind(is_chain=True),
    "ready": RingKind(is_chain=True),
}
KINDS_OF_JOBS = tuple(name for name, kind in _KINDS.items() if kind.spans_all)
"""of one ring over all workers"""
KINDS_OF_PHASES = (*(name for name, kind in _KINDS.items() if kind.sums_all), *PHASE_KINDS)
"""of one phase among some workers"""


def ring_kind(kind: str) -> RingKind:
    """The RingKind of a collective. One on several rings, or on none, has the default values: its phases, or jobs, say
    the rest."""
    return _KINDS.get(kind, RingKind())


def sent_share(kind: str, ranks: int, rank: int = 0) -> float:
    """Share of a vector that a rank sends on its connection: all of it, (P - 1) / P of it once or twice, or nothing."""
    found = ring_kind(kind)
    if found.is_chain:
        return float(rank < ranks - 1)
    return 1.0 if found.parts_sent is None else found.parts_sent * (ranks - 1) / ranks
