"""Reads classic pcap files (little endian, Ethernet)."""

from __future__ import annotations

import struct
from pathlib import Path

__all__ = ["pcap_frames"]


def pcap_frames(path: Path) -> list[bytes]:
    """The frames of a capture, in order."""
    data = path.read_bytes()
    magic, *_, linktype = struct.unpack_from("<IHHiIII", data)
    assert (magic, linktype) == (0xA1B2C3D4, 1)
    frames, at = [], 24
    while at < len(data):
        size = struct.unpack_from("<II", data, at + 8)[0]
        frames.append(data[at + 16 : at + 16 + size])
        at += 16 + size
    return frames
