"""Frames of priority-based flow control (IEEE 802.1Qbb, in IEEE 802.3 annex 31D): one station asks its neighbour to
stop classes of traffic for a time, or to go on.

    Eth: 01:80:C2:00:00:01, source, 0x8808 | opcode 0x0101 | enabled classes (16 bits, low 8 used) | 8 pause times
    (16 bits, quanta of 512 bit times) | zeros up to 60 bytes (64 with FCS)

A pause time of 0 resumes its class. A class that is not enabled keeps its time. No node forwards these
frames.
"""

from __future__ import annotations

from collections.abc import Mapping

from workloads.machine import Buffer
from workloads.wire.layout import Field, Layout, packer_of

__all__ = [
    "FRAME_BYTES",
    "MAX_QUANTA",
    "PFC",
    "PFC_CLASSES",
    "QUANTUM_BITS",
    "decode_pfc",
    "encode_pfc",
    "is_mac_control",
    "pause_ns",
]

PFC_CLASSES = 8
MAX_QUANTA = 0xFFFF
QUANTUM_BITS = 512
FRAME_BYTES = 60
"""without FCS, as all frames of this package"""
_DESTINATION = bytes.fromhex("0180c2000001")
_TYPE, _OPCODE = 0x8808, 0x0101
_TYPE_BYTES = _TYPE.to_bytes(2, "big")
PFC = Layout(
    "PFC",
    Field("dst", 48, "01:80:C2:00:00:01"),
    Field("src", 48, "MAC"),
    Field("ethertype", 16, "0x8808"),
    Field("opcode", 16, "0x0101"),
    Field("reserved", 8, "0"),
    Field("enabled", 8, "bit of each class that the frame is for"),
    *(Field(f"time{number}", 16, "quanta of 512 bit times") for number in range(PFC_CLASSES)),
    source="IEEE 802.1Qbb, in IEEE 802.3 annex 31D",
)
_CODEC = packer_of(PFC.words(("reserved", "enabled"), octets=("dst", "src")))
_TYPE_SPAN = PFC.span("ethertype")


def encode_pfc(source: bytes, quanta: Mapping[int, int]) -> bytes:
    """`quanta`: pause time by class, of the classes that the frame enables. Raises ValueError for a class that is not
    0 .. 7 or a time that is not 0 .. 65535."""
    times, enabled = [0] * PFC_CLASSES, 0
    for pfc_class, time in quanta.items():
        if not 0 <= pfc_class < PFC_CLASSES or not 0 <= time <= MAX_QUANTA:
            raise ValueError(f"class {pfc_class}, {time} quanta; allowed: 0 .. 7, 0 .. {MAX_QUANTA}")
        times[pfc_class] = time
        enabled |= 1 << pfc_class
    packed = _CODEC.pack(_DESTINATION, source, _TYPE, _OPCODE, enabled, *times)
    return packed + bytes(FRAME_BYTES - len(packed))


def is_mac_control(frame: Buffer) -> bool:
    """Whether a frame is one of MAC control, PFC or another, which ends at the station that receives it."""
    return bytes(frame[_TYPE_SPAN]) == _TYPE_BYTES


def decode_pfc(frame: Buffer) -> dict[int, int] | None:
    """Pause time in quanta by enabled class; None for a frame that is not a whole PFC frame. The upper half of the
    vector of classes is ignored."""
    if len(frame) < PFC.size:
        return None
    destination, _, kind, opcode, enabled, *times = _CODEC.unpack_from(frame)
    if destination != _DESTINATION or kind != _TYPE or opcode != _OPCODE:
        return None
    return {pfc_class: time for pfc_class, time in enumerate(times) if enabled >> pfc_class & 1}


def pause_ns(quanta: int, rate_bps: int) -> int:
    """How long so many quanta last on a link, rounded up to a whole ns."""
    return -(-quanta * QUANTUM_BITS * 1_000_000_000 // rate_bps)
