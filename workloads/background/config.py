"""Configuration of a background flow, the same for both ends."""

from __future__ import annotations

from dataclasses import dataclass

from workloads.wire import Envelope
from workloads.wire.places import UDP_PAYLOAD_AT

__all__ = ["HEADERS_BYTES", "FlowConfig"]

HEADERS_BYTES = UDP_PAYLOAD_AT
"""Ethernet, IPv4, UDP"""


@dataclass(frozen=True, slots=True)
class FlowConfig:
    """One background flow, at both ends. Times in ns since the start of the traffic."""

    name: str
    envelope: Envelope
    """headers of its packets, not RoCE; the destination port is `dport`"""
    dport: int
    rate_bps: int | None
    """rate of Ethernet frames; None: TCP's own"""
    start_ns: int = 0
    stop_ns: int | None = None
    size_bytes: int | None = None
    """payload at most"""
    payload_bytes: int = 1000
    """payload bytes of a UDP datagram"""

    @property
    def frame_bytes(self) -> int:
        return self.payload_bytes + HEADERS_BYTES
