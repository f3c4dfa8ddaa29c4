"""A frame as named fields, and which of them differ between two frames: what a hardware engineer looks at first."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

from workloads.collectives.ina_header import INA_HEADER_BYTES, INA_LAYOUT, INA_MAGIC
from workloads.rc.fields import CHECKSUM_BYTES, PacketPlaces, field_text, packet_places
from workloads.wire.envelope import ETHERNET, IPV4, IPV6, UDP
from workloads.wire.layout import Layout, WireError

__all__ = ["FieldDifference", "FrameField", "differing_fields", "dissect"]

_IPV4, _IPV6, _UDP = 0x0800, 0x86DD, 17
_MACS, _IPS = {"dst", "src"}, {"src", "dst"}


@dataclass(frozen=True, slots=True)
class FrameField:
    name: str
    """header and field, as `BTH.psn`; `element[3]` counts from the packet's first element"""
    bits: int
    value: int
    """big-endian as on the wire; elements little-endian, as hosts count"""
    text: str
    """text for people"""


@dataclass(frozen=True, slots=True)
class FieldDifference:
    name: str
    expected: str
    found: str
    bits: str
    """the bits that differ, in hexadecimal; empty when the field is in one of the frames only"""


def dissect(frame: bytes) -> list[FrameField]:
    """All fields, in the order of the wire; every byte of the frame is in one. Never raises: what does not decode is
    shown as bytes."""
    fields: list[FrameField] = []
    at = 0
    try:
        for field, at in _walk(frame):  # noqa: B007
            fields.append(field)
    except WireError:
        pass
    fields += [FrameField(f"byte[{i}]", 8, frame[i], f"{frame[i]:#04x}") for i in range(at, len(frame))]
    return fields


def _walk(frame: bytes) -> Iterator[tuple[FrameField, int]]:
    """(field, byte behind its header). Raises WireError where the frame ends too early."""
    ethernet = ETHERNET.unpack(frame)
    yield from _header(ETHERNET, frame, 0)
    at = ETHERNET.size
    ip = {_IPV4: IPV4, _IPV6: IPV6}.get(ethernet["ethertype"])
    if ip is None:
        return
    values = ip.unpack(frame, at)
    if values["version"] != (4 if ip is IPV4 else 6) or values.get("ihl", 5) != 5 or values["protocol"] != _UDP:
        return
    yield from _header(ip, frame, at)
    at += ip.size
    udp = UDP.unpack(frame, at)
    yield from _header(UDP, frame, at)
    end = at + udp["length"]
    at += UDP.size
    places = packet_places(frame, udp["dport"], at, end)
    if places is not None:
        yield from _roce(frame, places, end)


def _roce(frame: bytes, places: PacketPlaces, end: int) -> Iterator[tuple[FrameField, int]]:
    for layout, at in places.headers:
        yield from _header(layout, frame, at)
    if not places.is_whole:
        return
    at, behind = places.payload_at, places.payload_end
    if places.starts and behind - at >= INA_HEADER_BYTES and frame[at] == INA_MAGIC:
        yield from _header(INA_LAYOUT, frame, at)
        at += INA_HEADER_BYTES
    for number, here in enumerate(range(at, behind - 3, 4)):
        (word,), (real,) = struct.unpack_from("<I", frame, here), struct.unpack_from("<f", frame, here)
        text = f"{word:#010x} (float32 {real!r}, int32 {struct.unpack_from('<i', frame, here)[0]})"
        yield FrameField(f"element[{number}]", 32, word, text), here + 4
        at = here + 4
    for number, here in enumerate(range(at, end - CHECKSUM_BYTES)):
        yield (
            FrameField(f"{'payload' if here < behind else 'pad'}[{number}]", 8, frame[here], f"{frame[here]:#04x}"),
            here + 1,
        )
    if places.checksum_text:
        icrc = int.from_bytes(frame[end - CHECKSUM_BYTES : end], "big")
        yield FrameField("iCRC", 32, icrc, f"{icrc:#010x} ({places.checksum_text})"), end


def _header(layout: Layout, frame: bytes, at: int) -> Iterator[tuple[FrameField, int]]:
    values = layout.unpack(frame, at)
    for field in layout.fields:
        value = values[field.name]
        yield (
            FrameField(f"{layout.name}.{field.name}", field.bits, value, _text(layout, field.name, field.bits, value)),
            at + layout.size,
        )


def _text(layout: Layout, name: str, bits: int, value: int) -> str:
    if layout is ETHERNET and name in _MACS:
        return value.to_bytes(6, "big").hex(":")
    if layout is IPV4 and name in _IPS:
        return ".".join(map(str, value.to_bytes(4, "big")))
    if layout is IPV6 and name in _IPS:
        return value.to_bytes(16, "big").hex(":", 2)
    if name in ("ethertype", "checksum"):
        return f"{value:#x}"
    return field_text(layout, name, value) or str(value)


def differing_fields(expected: bytes, found: bytes) -> list[FieldDifference]:
    """Empty if and only if the frames are equal."""
    if expected == found:
        return []
    ours, theirs = ({field.name: field for field in dissect(frame)} for frame in (expected, found))
    different = []
    for name in (*ours, *(name for name in theirs if name not in ours)):
        a, b = ours.get(name), theirs.get(name)
        if a is None or b is None:
            different.append(FieldDifference(name, a.text if a else "not there", b.text if b else "not there", ""))
        elif (a.value, a.text) != (b.value, b.text):
            different.append(FieldDifference(name, a.text, b.text, f"{a.value ^ b.value:#x}"))
    if len(expected) != len(found):
        lengths = FieldDifference("length", f"{len(expected)} bytes", f"{len(found)} bytes", "")
        different.insert(0, lengths)
    return different
