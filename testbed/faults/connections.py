"""What faults must know of the connections, to find a packet's message, position and rank from its PSN."""

from __future__ import annotations

from dataclasses import dataclass

from workloads.wire.recognised import Flow

__all__ = ["Connection", "Flow"]


@dataclass(frozen=True, slots=True)
class Connection:
    """One RC connection that carries data one way; answers (ACK, NAK) come back on `answers`."""

    rank: int
    """rank of the host that sends the requests"""
    requests: Flow
    answers: Flow
    first_psn: int
    message_packets: tuple[int, ...]
    """packets of each message, in order, as far as the job plans them"""
