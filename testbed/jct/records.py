"""What captures say of each frame: when a switch took it or gave it, by which link, and which frame it was."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import cython

from testbed.captures.capture import DROPPED, TRIMMED, FileCapture
from testbed.checkers.context import Capture
from workloads.rc.transport import RELIABLE
from workloads.wire import places
from workloads.wire.aggregation import AGGREGATION, AGGREGATION_PORT, DatagramKind
from workloads.wire.dscp import layer_class_of, read_dscp
from workloads.wire.pfc import is_mac_control

if not cython.compiled:
    import zlib

    from workloads.kernels import get8, get16

    def crc_of(frame: bytes, at: int, end: int) -> int:
        """CRC-32 of the bytes from `at` to `end`, which lie in the frame. The compiled body is in the .pxd."""
        return zlib.crc32(frame[at:end])

    def joined(frame: bytes, at: int, end: int, second: int, second_end: int, third: int, third_end: int) -> bytes:
        """Three parts of the frame, as one. The compiled body is in the .pxd."""
        return frame[at:end] + frame[second:second_end] + frame[third:third_end]


__all__ = ["Frame", "SeenFrames", "Unreadable", "frame_of", "read"]

_ROCE, _AGGREGATION = RELIABLE.udp_port, int(AGGREGATION_PORT)
_IS_REQUEST = bytes(code in RELIABLE.message_parts and RELIABLE.message_parts[code].is_request for code in range(256))
_IS_DATA = bytes(code in (DatagramKind.DATA, DatagramKind.EXPONENTS, DatagramKind.RESULT) for code in range(256))
_LEAST, _DATAGRAM_HEADER_BYTES, _KIND_AT = places.IP_AT, AGGREGATION.size, AGGREGATION.octets("kind")[0]
_BASE_BYTES, _CHANGED_AT, _ICRC_BYTES = RELIABLE.part_bytes["BTH"], RELIABLE.changed_at, RELIABLE.part_bytes["iCRC"]
_TYPE_AT, _SRC_AT, _SRC6_AT = places.ETHERTYPE_AT, places.SRC_IP_AT, places.SRC_IP6_AT
_AT, _AT6 = places.UDP_PAYLOAD_AT, places.UDP_PAYLOAD6_AT
_PORT_BACK, _PORTS_END_BACK = _AT - places.DPORT_AT, _AT - places.UDP_LENGTH_AT
"""bytes from there to what is behind UDP"""


class Unreadable(ValueError):
    """A capture cannot be read."""


class Frame:
    """One frame at one port of a switch."""

    __slots__ = ("content", "is_data", "is_lost", "key", "layer_class", "number", "size", "time")

    time: int
    number: int
    """place among all records of the switch"""
    size: int
    key: bytes
    """what stays the same of a frame along a link"""
    content: int
    """checksum of what is behind its headers; a switch that passes a frame on leaves it, one that sums changes it"""
    is_data: bool
    """it is of a gradient or a sum, not an answer"""
    layer_class: int
    """which of the port's queues it is for, where they are served by class"""
    is_lost: bool


def frame_of(
    time: int, number: int, size: int, key: bytes, content: int, is_data: bool, layer_class: int, lost: bool
) -> Frame:
    """A call of a class would be slower."""
    frame: Frame = Frame.__new__(Frame)
    frame.time, frame.number, frame.size, frame.key, frame.content = time, number, size, key, content
    frame.is_data, frame.layer_class, frame.is_lost = is_data, layer_class, lost
    return frame


class SeenFrames:
    """What one switch saw, by link."""

    __slots__ = ("given", "taken")

    def __init__(self) -> None:
        self.taken: dict[str, list[Frame]] = {}
        self.given: dict[str, list[Frame]] = {}


def read(captures: Iterable[Path | Capture], *, classes: bool) -> dict[str, SeenFrames]:
    """By switch. `classes`: whether ports serve layer classes. Raises Unreadable."""
    return {capture.switch: _read(capture, classes) for capture in map(_opened, captures)}


def _opened(capture: Path | Capture) -> Capture:
    return FileCapture(capture) if isinstance(capture, Path) else capture


def _read(capture: Capture, classes: bool) -> SeenFrames:
    seen, open_frames = SeenFrames(), dict[tuple[str, bytes], list[Frame]]()
    try:
        for number, (link, found) in enumerate(capture.read()):
            raw = found.frame
            if is_mac_control(raw):
                continue
            key, content, is_data = _identity(raw)
            if found.outgoing and found.comment:
                # It was recorded before, when the program gave it.
                waiting = open_frames.get((link, key))
                if waiting:
                    if found.comment == TRIMMED:
                        frame = waiting[len(waiting) - 1]
                        frame.size = len(raw)
                    elif found.comment.startswith(DROPPED):
                        frame = waiting.pop()
                        frame.is_lost = True
                continue
            layer_class = _class(raw) if classes else 0
            frame = frame_of(found.time_ns, number, len(raw), key, content, is_data, layer_class, bool(found.comment))
            if found.outgoing:
                seen.given.setdefault(link, []).append(frame)
                waiting = open_frames.get((link, key))
                open_frames[link, key] = [waiting[len(waiting) - 1], frame] if waiting else [frame]
            else:
                seen.taken.setdefault(link, []).append(frame)
    except (OSError, ValueError) as error:
        raise Unreadable(f"the capture {capture.name} cannot be read: {error}") from error
    return seen


def _class(frame: bytes) -> int:
    return layer_class_of(read_dscp(frame))


def _identity(frame: bytes) -> tuple[bytes, int, bool]:
    """(key, checksum of the content, whether it carries data). The key has only what queues and links do not change."""
    size = len(frame)
    kind = get16(frame, _TYPE_AT) if size >= _LEAST else 0
    at = _AT if kind == 0x0800 else _AT6 if kind == 0x86DD else 0
    if not at or size < at + _BASE_BYTES:
        return frame[:64], crc_of(frame, 0, size), True
    begin, port = _SRC_AT if at == _AT else _SRC6_AT, get16(frame, at - _PORT_BACK)
    ports_end = at - _PORTS_END_BACK
    # With its iCRC, all frames of a flow would have one checksum.
    content = crc_of(frame, at + _BASE_BYTES, max(at + _BASE_BYTES, size - _ICRC_BYTES))
    if port == _ROCE:
        key = joined(frame, begin, ports_end, at, at + _CHANGED_AT, at + _CHANGED_AT + 1, at + _BASE_BYTES)
        return key, content, bool(_IS_REQUEST[get8(frame, at)])
    rest = min(size, at + (_DATAGRAM_HEADER_BYTES if port == _AGGREGATION else 32))
    key = joined(frame, begin, ports_end, at, rest, rest, rest)
    return key, content, bool(_IS_DATA[get8(frame, at + _KIND_AT)]) if port == _AGGREGATION else True
