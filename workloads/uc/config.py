"""What one UC queue pair is told. Values only."""

from __future__ import annotations

from dataclasses import dataclass

from workloads.wire import Envelope

__all__ = ["MOST_UC_PACKETS", "UC_FRAME_BYTES", "UC_MESSAGE_BYTES", "UcQpConfig"]

MOST_UC_PACKETS = 16
"""Packets of one message, at most"""
UC_FRAME_BYTES = 58
"""beside the payload, of each packet: Ethernet, IPv4, UDP, BTH and iCRC"""
UC_MESSAGE_BYTES = 20
"""of each message: RETH and immediate"""


@dataclass(frozen=True, slots=True)
class UcQpConfig:
    """One end of an unreliable connection."""

    qpn: int
    peer_qpn: int
    envelope: Envelope
    """of the packets that this end sends"""
    first_psn: int
    """of the packets that this end sends; what comes may begin anywhere, since a FIRST or ONLY tells where it is"""
    path_mtu: int = 1024
