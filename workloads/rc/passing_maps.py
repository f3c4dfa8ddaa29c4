"""Answers with a map of held packets (`irn-held`), as a switch reads and changes them that they pass."""

from __future__ import annotations

from typing import NamedTuple

from workloads.machine import Buffer
from workloads.wire.held_map import HELD_MAP_BYTES, HeldMap, decode_held_map
from workloads.wire.layout import WireError
from workloads.wire.opcodes import Opcode
from workloads.wire.packet import decode_packet, icrc_is_valid, replace_payload

__all__ = ["PassingMap", "read_map"]

_SIZES = (70 + HELD_MAP_BYTES, 90 + HELD_MAP_BYTES)
"""sizes of a frame, IPv4 and IPv6"""


class PassingMap(NamedTuple):
    frame: Buffer
    addresses: tuple[bytes, bytes]
    """(source IP, destination IP) of the answer"""
    held: HeldMap

    def replaced(self, held: HeldMap) -> bytes:
        """The answer with that map, and its iCRC."""
        return replace_payload(self.frame, held.encode())


def read_map(frame: Buffer) -> PassingMap | None:
    """None: no answer with a map, or its iCRC is wrong."""
    if len(frame) not in _SIZES:
        return None
    try:
        packet = decode_packet(frame)
    except WireError:
        return None
    if packet is None or packet.bth.opcode != Opcode.IRN_ANSWER or not icrc_is_valid(frame):
        return None
    held = decode_held_map(packet.payload)
    return None if held is None else PassingMap(frame, (packet.envelope.src_ip, packet.envelope.dst_ip), held)
