"""Sizes of UC packets and messages."""

from __future__ import annotations

from workloads.wire.headers import ImmDt, Reth
from workloads.wire.packet import EMPTY_FRAME_BYTES

__all__ = ["MOST_UC_PACKETS", "UC_FRAME_BYTES", "UC_MESSAGE_BYTES"]

MOST_UC_PACKETS = 16
"""Packets of one message, at most"""
UC_FRAME_BYTES = EMPTY_FRAME_BYTES
"""bytes of each packet in addition to the payload: Ethernet, IPv4, UDP, BTH and iCRC"""
UC_MESSAGE_BYTES = Reth.LAYOUT.size + ImmDt.LAYOUT.size
"""bytes of each message for RETH and immediate"""
