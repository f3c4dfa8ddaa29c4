"""Where the two halves of a queue pair count and report."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field, fields

from workloads.events import RcStatistics
from workloads.machine import Event
from workloads.transports.messages import Completion

__all__ = ["Counters", "Outbox"]


@dataclass(slots=True)
class Counters:
    """Running counts of one queue pair; the fields are those of `RcStatistics`."""

    packets_sent: int = 0
    packets_retransmitted: int = 0
    packets_received: int = 0
    duplicates_received: int = 0
    acks_sent: int = 0
    acks_received: int = 0
    naks_sent: int = 0
    naks_received: int = 0
    rnr_naks_received: int = 0
    timeouts: int = 0
    icrc_errors: int = 0
    cnps_received: int = 0

    def statistics(self, qpn: int) -> RcStatistics:
        return RcStatistics(qpn, **{name: getattr(self, name) for name in _NAMES})


_NAMES = tuple(item.name for item in fields(Counters))


@dataclass(slots=True)
class Outbox:
    """What the user of an endpoint has not asked for yet, oldest first."""

    events: deque[Event] = field(default_factory=deque)
    completions: deque[Completion] = field(default_factory=deque)
