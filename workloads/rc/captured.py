"""A quick reader of captured frames for checkers, with the opcode table of `workloads.wire`.

Independent of the codec and of the iCRC routine that endpoints and switches use, so that an error there shows.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from enum import Enum

import cython

from workloads.wire import OPCODES, ROCE_PORT, Opcode, continues
from workloads.wire.headers import Sack
from workloads.wire.held_map import HELD_MAP_WORDS
from workloads.wire.packet import EXTENSIONS

if not cython.compiled:
    from workloads.kernels import copy_bytes, finished, get8, get16, get32, new_draft, put8

    def part(frame: bytes, at: int, end: int) -> bytes:
        """The bytes from `at` to `end`, which lie in the frame. The compiled body is in the .pxd."""
        return frame[at:end]


__all__ = ["FrameRole", "MalformedFrame", "RoceData", "RoceFrame", "data_of", "parse_frame"]


class FrameRole(Enum):
    DATA = "a SEND or WRITE packet of an RC connection"
    ANSWER = "an ACK, NAK or RNR NAK, or an answer of IRN"
    OTHER = "any other RoCE packet"


class MalformedFrame(ValueError):
    """RoCE v2 whose lengths, checksum or headers contradict each other."""


class RoceFrame:
    """What the rules ask about one RoCE v2 frame."""

    __slots__ = ("ack_req", "connection", "constant", "dest", "extensions", "head", "held", "icrc_valid", "msn",
                 "opcode", "payload", "payload_bytes", "psn", "request", "reth_length", "reth_va", "role", "sack",
                 "source", "starts", "syndrome", "trimmed")  # fmt: skip

    source: bytes
    dest: bytes
    connection: tuple[bytes, bytes, int]
    """(source IP, destination IP, destination QPN)"""
    opcode: int
    psn: int
    ack_req: int
    role: FrameRole
    icrc_valid: bool
    trimmed: bool
    """data that a full queue cut down to its headers, and these are whole: DSCP 11, no payload, an iCRC that is the
    complement of the right one (docs/trimming.md)"""
    request: bytes
    """of data: BTH without the pad count, and extension headers"""
    extensions: bytes
    """RETH, ImmDt, AETH as they stand; empty without them"""
    reth_length: int
    reth_va: int
    """both -1 without RETH"""
    starts: bool
    """of data: FIRST or ONLY, and no later packet of a message under IRN (`workloads.wire.continues`)"""
    syndrome: int
    msn: int
    """both -1 without AETH"""
    sack: tuple[int, int] | None
    """of an answer of IRN: next expected PSN, PSN that is answered"""
    held: tuple[int, int, int, int] | None
    """of one with a map (`irn-held`) and a right iCRC: first PSN, packets, their bits, newest PSN or 0xffffffff"""
    head: bytes
    """bytes of data: Ethernet header to the last extension header and, where a message starts, the 16 bytes behind it
    (the INA header). Without what a switch may change: ToS, TTL, IP checksum, UDP checksum"""
    payload: bytes
    payload_bytes: int
    constant: bytes
    """of what is no data: the whole frame without what a switch may change; of a map it may change all but its first
    PSN"""


_PORT = ROCE_PORT
_SEED = zlib.crc32(b"\xff" * 8)
_INA_HEADER_BYTES = 16
_EXTENSION_BYTES = {
    code: sum(EXTENSIONS[name].LAYOUT.size for name in info.extensions) for code, info in OPCODES.items()
}
_RC_DATA = frozenset(code for code, info in OPCODES.items() if info.is_request and code < 0x20)


def _table(number_of: Callable[[int], int]) -> bytes:
    """By opcode."""
    return bytes(number_of(code) if code in OPCODES else 0 for code in range(256))


_KNOWN = _table(lambda code: 1)
_EXTENDED = _table(lambda code: _EXTENSION_BYTES[code])
_IS_RC_DATA = _table(lambda code: code in _RC_DATA)
_STARTS = _table(lambda code: OPCODES[code].starts)
_HAS_RETH = _table(lambda code: "reth" in OPCODES[code].extensions)
_ACKNOWLEDGE, _IRN_ANSWER = int(Opcode.ACKNOWLEDGE), int(Opcode.IRN_ANSWER)
_DATA, _ANSWER, _OTHER = FrameRole.DATA, FrameRole.ANSWER, FrameRole.OTHER
_TRIMMED = 11
"""DSCP"""
_SACK = Sack.LAYOUT.packer()
_HELD, _HELD_BYTES = HELD_MAP_WORDS, HELD_MAP_WORDS.size
_crc32 = zlib.crc32


def parse_frame(frame: bytes) -> RoceFrame | None:
    """None when the frame is not RoCE v2. Raises MalformedFrame when it is, and its lengths, its IPv4 checksum or its
    headers contradict each other."""
    if len(frame) < 54:
        return None
    kind, at = get16(frame, 12), 42
    if kind == 0x0800:
        fragment, total = get16(frame, 20), 0
        if get8(frame, 14) != 0x45 or get8(frame, 23) != 17 or get16(frame, 36) != _PORT or fragment & 0x3FFF:
            return None
        ip_end = 14 + get16(frame, 16)
        for place in range(14, 34, 2):
            total += get16(frame, place)
        if total % 0xFFFF or not total:
            raise MalformedFrame("the IPv4 header checksum is wrong")
        source, dest = part(frame, 26, 30), part(frame, 30, 34)
    elif kind == 0x86DD:
        at = 62
        if len(frame) < 74 or get8(frame, 14) >> 4 != 6 or get8(frame, 20) != 17 or get16(frame, 56) != _PORT:
            return None
        ip_end = 54 + get16(frame, 18)
        source, dest = part(frame, 22, 38), part(frame, 38, 54)
    else:
        return None
    end = at - 8 + get16(frame, at - 4)
    if end != ip_end or end > len(frame):
        raise MalformedFrame(f"UDP ends at byte {end}, IP at byte {ip_end}, the frame at byte {len(frame)}")
    opcode, pad_byte = get8(frame, at), get8(frame, at + 1)
    if not _KNOWN[opcode]:
        raise MalformedFrame(f"unknown opcode {opcode:#04x}")
    headers_end, data_at, pad = at + 12, at + 12 + _EXTENDED[opcode], pad_byte >> 4 & 3
    data_end = end - 4 - pad
    if data_end < data_at:
        raise MalformedFrame("headers, pad and iCRC do not fit the length")

    # What a switch may change: ToS, TTL, IP checksum, UDP checksum, BTH byte 4; counted from the IP header.
    covered = new_draft(end - 18)
    copy_bytes(covered, 0, frame, 14, end - 18)
    put8(covered, 1, 0xFF)
    if at == 42:
        put8(covered, 8, 0xFF)
        put8(covered, 10, 0xFF)
        put8(covered, 11, 0xFF)
    else:
        put8(covered, 0, get8(frame, 14) | 0x0F)
        put8(covered, 2, 0xFF)
        put8(covered, 3, 0xFF)
        put8(covered, 7, 0xFF)
    put8(covered, at - 16, 0xFF)
    put8(covered, at - 15, 0xFF)
    put8(covered, at - 10, 0xFF)
    result = RoceFrame()
    payload = part(frame, data_at, data_end)
    result.extensions = part(frame, headers_end, data_at)
    icrc = _crc32(covered, _SEED)
    found = get8(frame, end - 4) | get8(frame, end - 3) << 8 | get8(frame, end - 2) << 16 | get8(frame, end - 1) << 24
    result.icrc_valid = icrc == found
    result.source, result.dest = source, dest
    result.connection = source, dest, get32(frame, at + 4) & 0xFFFFFF
    psn = get32(frame, at + 8)
    result.opcode, result.psn, result.ack_req = opcode, psn & 0xFFFFFF, psn >> 31
    result.reth_length = result.reth_va = -1
    if _HAS_RETH[opcode]:
        result.reth_va = get32(frame, headers_end) << 32 | get32(frame, headers_end + 4)
        result.reth_length = get32(frame, headers_end + 12)
    result.sack, result.held, result.starts = None, None, False
    result.syndrome = result.msn = -1
    result.payload, result.payload_bytes = payload, data_end - data_at
    result.head = result.constant = result.request = b""
    result.trimmed = False
    if _IS_RC_DATA[opcode]:
        result.role = _DATA
        if not result.icrc_valid and data_end == data_at:
            dscp = get8(frame, 15) >> 2 if at == 42 else get16(frame, 14) >> 6 & 0x3F
            result.trimmed = dscp == _TRIMMED and icrc ^ 0xFFFFFFFF == found
        request = part(frame, at, data_at)
        result.request = b"".join((request[:1], bytes((pad_byte & 0xCF,)), request[2:])) if pad else request
        result.starts = bool(_STARTS[opcode]) and not continues(opcode, result.reth_length, result.payload_bytes)
        kept = data_at + min(_INA_HEADER_BYTES, data_end - data_at) if result.starts else data_at
        head = new_draft(kept + 1)
        copy_bytes(head, 0, frame, 0, 14)
        copy_bytes(head, 14, covered, 0, headers_end - 14)
        copy_bytes(head, headers_end, frame, headers_end, kept - headers_end)
        put8(head, kept, get8(frame, at + 4))
        result.head = finished(head)
        return result
    held, bth4 = b"", part(frame, at + 4, at + 5)
    if opcode in (_ACKNOWLEDGE, _IRN_ANSWER):
        result.role, result.syndrome = _ANSWER, get8(frame, headers_end)
        result.msn = get32(frame, headers_end) & 0xFFFFFF
        if opcode == _IRN_ANSWER:
            result.sack = _SACK.unpack_from(frame, headers_end + 4)
            if data_end - data_at == _HELD_BYTES and result.icrc_valid:
                word, newest, bits = _HELD.unpack_from(frame, data_at)
                result.held = word & 0xFFFFFF, (word >> 24) + 1, bits, newest
                held = part(frame, data_at + 1, data_at + 4)
    else:
        result.role = _OTHER
    udp_checksum = part(frame, at - 2, at)
    if held:
        rest = b"".join((result.extensions, held, part(frame, data_end, end - 4), udp_checksum, bth4))
    else:
        rest = b"".join((part(frame, headers_end, end - 4), udp_checksum, bth4, part(frame, end - 4, end)))
    result.constant = b"".join((part(frame, 0, 14), part(covered, 0, headers_end - 14), rest))
    return result


class RoceData:
    """A SEND or WRITE packet of an RC connection."""

    __slots__ = ("connection", "payload", "psn")

    def __init__(self, connection: tuple[bytes, bytes, int], psn: int, payload: bytes) -> None:
        self.connection = connection
        """(source IP, destination IP, destination QPN)"""
        self.psn, self.payload = psn, payload


def data_of(frame: bytes) -> RoceData | None:
    """What such a packet carries, taken as it stands: neither lengths nor the iCRC are judged. None for all else."""
    size, at = len(frame), 42 if frame[12:14] == b"\x08\x00" else 62
    if size < at + 16 or get16(frame, at - 6) != _PORT or not _IS_RC_DATA[get8(frame, at)]:
        return None
    source_at, address = (26, 4) if at == 42 else (22, 16)
    source = part(frame, source_at, source_at + address)
    dest = part(frame, source_at + address, source_at + 2 * address)
    begin = at + 12 + _EXTENDED[get8(frame, at)]
    end = min(size, at - 12 + get16(frame, at - 4) - (get8(frame, at + 1) >> 4 & 3))
    connection = source, dest, get32(frame, at + 4) & 0xFFFFFF
    return RoceData(connection, get32(frame, at + 8) & 0xFFFFFF, part(frame, begin, end) if begin < end else b"")
