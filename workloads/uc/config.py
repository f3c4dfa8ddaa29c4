"""Configuration of one UC queue pair. Values only."""

from __future__ import annotations

from dataclasses import dataclass

from workloads.wire import Envelope

__all__ = ["MOST_UC_PACKETS", "UC_FRAME_BYTES", "UC_MESSAGE_BYTES", "UcQpConfig"]

MOST_UC_PACKETS = 16
"""Packets of one message, at most"""
UC_FRAME_BYTES = 58
"""bytes of each packet in addition to the payload: Ethernet, IPv4, UDP, BTH and iCRC"""
UC_MESSAGE_BYTES = 20
"""bytes of each message for RETH and immediate"""


@dataclass(frozen=True, slots=True)
class UcQpConfig:
    """One end of an unreliable connection."""

    qpn: int
    peer_qpn: int
    envelope: Envelope
    """headers of the packets that this end sends"""
    first_psn: int
    """first PSN that this end sends; received PSNs may begin anywhere, since a FIRST or ONLY sets the expected one"""
    path_mtu: int = 1024
