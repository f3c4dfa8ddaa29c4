"""A RoCE v2 packet as the places of its headers, for those who show frames to people."""

from __future__ import annotations

from typing import NamedTuple

from workloads.wire.envelope import ROCE_PORT
from workloads.wire.headers import Bth
from workloads.wire.icrc import ICRC_BYTES
from workloads.wire.layout import Layout, WireError
from workloads.wire.opcodes import OPCODES, opcode_name
from workloads.wire.packet import EXTENSIONS, icrc_is_valid

__all__ = ["CHECKSUM_BYTES", "PacketPlaces", "field_text", "packet_places"]

CHECKSUM_BYTES = ICRC_BYTES
_HEX = frozenset({"psn", "dest_qpn", "rkey", "va"})


class PacketPlaces(NamedTuple):
    headers: tuple[tuple[Layout, int], ...]
    """each with its first byte in the frame"""
    payload_at: int
    payload_end: int
    """behind it: pad up to the checksum"""
    is_whole: bool
    """False: an opcode that we do not know, or its headers do not fit. What is behind these headers is unknown"""
    starts: bool
    """a message may begin here"""
    checksum_text: str
    """whether the checksum is that of these bytes; empty: the frame contradicts itself"""


def packet_places(frame: bytes, port: int, at: int, end: int) -> PacketPlaces | None:
    """`port`: UDP port of the receiver; `at`, `end`: where the bytes behind UDP begin and end. None: no RoCE v2."""
    if port != ROCE_PORT or not at + Bth.LAYOUT.size + ICRC_BYTES <= end <= len(frame):
        return None
    bth = Bth.decode(frame, at)
    headers = [(Bth.LAYOUT, at)]
    at += Bth.LAYOUT.size
    info = OPCODES.get(bth.opcode)
    is_whole = info is not None
    for name in () if info is None else info.extensions:
        layout = EXTENSIONS[name].LAYOUT
        if at + layout.size > end:
            is_whole = False
            break
        headers.append((layout, at))
        at += layout.size
    starts = info is not None and info.starts
    return PacketPlaces(tuple(headers), at, end - ICRC_BYTES - bth.pad, is_whole, starts, _checksum_text(frame))


def _checksum_text(frame: bytes) -> str:
    try:
        return "valid" if icrc_is_valid(frame) else "wrong for these bytes"
    except WireError:
        return ""


def field_text(layout: Layout, name: str, value: int) -> str | None:
    """A field for people, where it is no plain number."""
    if layout is Bth.LAYOUT and name == "opcode":
        return f"{value:#04x} {opcode_name(value)}"
    return f"{value:#x}" if name in _HEX else None
