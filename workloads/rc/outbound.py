"""Fast writer from the values of a packet to its frame, in place of `encode_packet`.

All packets of one opcode and size on one connection share their first bytes, so these and their part of the iCRC are
made once. A test proves this writer equal to `encode_packet`.
"""

from __future__ import annotations

from typing import NamedTuple

import cython

from workloads.machine import Buffer
from workloads.wire import ICRC_BYTES, Bth, Envelope, icrc_state
from workloads.wire.envelope import ETHERNET, encode_envelope

if not cython.compiled:
    from workloads.wire.icrc import with_icrc

__all__ = ["FrameHead", "FrameWriter", "PlanHeads"]

_WORD = 4
_ACK_REQ = 1 << 31
_REMEMBERED = 4096
_ROOM = bytes(ICRC_BYTES)


class FrameHead(NamedTuple):
    """What equal-sized packets of one opcode begin with."""

    octets: bytes
    """Ethernet header to BTH byte 7 (the last before AckReq and PSN)"""
    state: int
    """iCRC's CRC-32 state behind them"""
    pad: bytes


class PlanHeads(NamedTuple):
    """Beginnings of a message's first packet, of those behind it, and of the last, as a `SendPlan` has them."""

    octets: bytes
    """`heads` of `struct rc_plan`"""
    row_bytes: int
    """length of the longest frame"""


class FrameWriter:
    """Encodes the packets of one direction of a connection."""

    def __init__(self, envelope: Envelope, dest_qpn: int) -> None:
        self._envelope, self._dest_qpn = envelope, dest_qpn
        self._heads: dict[tuple[int, int, int], FrameHead] = {}
        self.singles: dict[tuple[int, int, int], PlanHeads] = {}
        """of messages of one packet, by opcode and bytes of extension headers and payload; `send_plan` fills it"""

    def head(self, opcode: int, extension_bytes: int, payload_bytes: int) -> FrameHead:
        key = opcode, extension_bytes, payload_bytes
        found = self._heads.get(key)
        if found is None:
            if len(self._heads) >= _REMEMBERED:
                self._heads.clear()
                self.singles.clear()
            pad = -payload_bytes & 3
            bth = Bth(opcode, self._dest_qpn, 0, pad=pad).encode()
            size = len(bth) + extension_bytes + payload_bytes + pad + ICRC_BYTES
            octets = encode_envelope(self._envelope, size) + bth[:-_WORD]
            found = self._heads[key] = FrameHead(octets, icrc_state(octets[ETHERNET.size :]), bytes(pad))
        return found

    def write(self, opcode: int, psn: int, ack_req: bool, extensions: bytes, payload: Buffer) -> bytes:
        """The frame, iCRC included."""
        octets, state, pad = self.head(opcode, len(extensions), len(payload))
        word = (psn | _ACK_REQ if ack_req else psn).to_bytes(_WORD, "big")
        return with_icrc(b"".join((octets, word, extensions, payload, pad, _ROOM)), len(octets), state)
