"""A quick reader of captured frames for checkers: one struct per envelope, the opcode table of `workloads.wire` behind
it.

Independent of the codec and of the iCRC routine that endpoints and switches use, so that an error there shows.
"""

from __future__ import annotations

import struct
import zlib
from enum import Enum
from typing import NamedTuple

from workloads.wire import OPCODES, Opcode, continues
from workloads.wire.packet import EXTENSIONS

__all__ = ["MalformedFrame", "RoceData", "RoceFrame", "Role", "data_of", "parse_frame"]


class Role(Enum):
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
    role: Role
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


_V4 = struct.Struct("!12xH BxHxxHxB2x4s4s xxHHH BBxxII")
"""ethertype, version and IHL, length, fragment, protocol, addresses, dport, UDP length, UDP checksum, opcode, pad byte,
BTH words 1 and 2"""
_V6 = struct.Struct("!12xH B3xHBx16s16s xxHHH BBxxII")
_CHECKSUM = struct.Struct("!14x10H")
_SEED = zlib.crc32(b"\xff" * 8)
_V4_VARIANT = (1, 8, 10, 11, 26, 27, 32)  # ToS, TTL, checksum, UDP checksum, BTH byte 4; from the IP header on
_V6_VARIANT = (1, 2, 3, 7, 46, 47, 52)
_INA_HEADER_BYTES = 16

_EXTENSION_BYTES = {
    code: sum(EXTENSIONS[name].LAYOUT.size for name in info.extensions) for code, info in OPCODES.items()
}
_RC_DATA = frozenset(code for code, info in OPCODES.items() if info.is_request and code < 0x20)
_STARTS = frozenset(code for code, info in OPCODES.items() if info.starts)
_ANSWERS = (Opcode.ACKNOWLEDGE, Opcode.IRN_ANSWER)
_TRIMMED = 11
"""DSCP"""
_SACK = struct.Struct("!II")
_HELD = struct.Struct("!IIQ")
_WITH_RETH = frozenset(code for code, info in OPCODES.items() if "reth" in info.extensions)


def parse_frame(frame: bytes) -> RoceFrame | None:
    """None when the frame is not RoCE v2. Raises MalformedFrame when it is, and its lengths, its IPv4 checksum or its
    headers contradict each other."""
    if len(frame) < 54 or frame[12:14] not in (b"\x08\x00", b"\x86\xdd"):
        return None
    if frame[12] == 0x08:
        (_, version, length, fragment, protocol, source, dest, dport, udp_length, _, opcode, pad_byte, qpn, psn) = (
            _V4.unpack_from(frame)
        )
        if version != 0x45 or protocol != 17 or dport != 4791 or fragment & 0x3FFF:
            return None
        at, ip_end, variant = 42, 14 + length, _V4_VARIANT
        total = sum(_CHECKSUM.unpack_from(frame))
        if total % 0xFFFF or not total:
            raise MalformedFrame("the IPv4 header checksum is wrong")
    else:
        if len(frame) < 74:
            return None
        _, version, length, protocol, source, dest, dport, udp_length, _, opcode, pad_byte, qpn, psn = _V6.unpack_from(
            frame
        )
        if version >> 4 != 6 or protocol != 17 or dport != 4791:
            return None
        at, ip_end, variant = 62, 54 + length, _V6_VARIANT
    end = at - 8 + udp_length
    if end != ip_end or end > len(frame):
        raise MalformedFrame(f"UDP ends at byte {end}, IP at byte {ip_end}, the frame at byte {len(frame)}")
    if opcode not in OPCODES:
        raise MalformedFrame(f"unknown opcode {opcode:#04x}")
    data_at, pad = at + 12 + _EXTENSION_BYTES[opcode], pad_byte >> 4 & 3
    data_end = end - 4 - pad
    if data_end < data_at:
        raise MalformedFrame("headers, pad and iCRC do not fit the length")

    masked = bytearray(frame[14 : end - 4])
    for index in variant:
        masked[index] = 0xFF
    if at == 62:
        masked[0] |= 0x0F
    result = RoceFrame()
    icrc = zlib.crc32(masked, _SEED)
    result.icrc_valid = icrc.to_bytes(4, "little") == frame[end - 4 : end]
    result.source, result.dest = source, dest
    result.connection = source, dest, qpn & 0xFFFFFF
    result.opcode, result.psn, result.ack_req = opcode, psn & 0xFFFFFF, psn >> 31
    result.extensions = frame[at + 12 : data_at]
    result.reth_length = result.reth_va = -1
    if opcode in _WITH_RETH:
        result.reth_va = int.from_bytes(frame[at + 12 : at + 20], "big")
        result.reth_length = int.from_bytes(frame[at + 24 : at + 28], "big")
    result.sack, result.held, result.starts = None, None, False
    result.syndrome = result.msn = -1
    result.payload, result.payload_bytes = frame[data_at:data_end], data_end - data_at
    result.head = result.constant = result.request = b""
    result.trimmed = False
    bth4 = frame[at + 4 : at + 5]
    if opcode in _RC_DATA:
        result.role = Role.DATA
        if not result.icrc_valid and data_end == data_at:
            dscp = frame[15] >> 2 if at == 42 else (frame[14] << 4 | frame[15] >> 4) >> 2 & 0x3F
            result.trimmed = dscp == _TRIMMED and (~icrc & 0xFFFFFFFF).to_bytes(4, "little") == frame[end - 4 : end]
        result.request = b"".join((frame[at : at + 1], bytes((pad_byte & 0xCF,)), frame[at + 2 : data_at]))
        result.starts = opcode in _STARTS and not continues(opcode, result.reth_length, result.payload_bytes)
        kept = data_at + min(_INA_HEADER_BYTES, data_end - data_at) if result.starts else data_at
        result.head = b"".join((frame[:14], masked[: kept - 14], bth4))
        return result
    if opcode in _ANSWERS:
        result.role, result.syndrome = Role.ANSWER, frame[at + 12]
        result.msn = int.from_bytes(frame[at + 13 : at + 16], "big")
        if opcode == Opcode.IRN_ANSWER:
            result.sack = _SACK.unpack_from(frame, at + 16)
            if data_end - data_at == _HELD.size and result.icrc_valid:
                word, newest, bits = _HELD.unpack_from(frame, data_at)
                result.held = word & 0xFFFFFF, (word >> 24) + 1, bits, newest
                masked[data_at - 14 : data_end - 14] = frame[data_at + 1 : data_at + 4]
    else:
        result.role = Role.OTHER
    udp_checksum = frame[at - 2 : at]
    icrc_bytes = b"" if result.held else frame[end - 4 : end]
    result.constant = b"".join((frame[:14], masked, udp_checksum, bth4, icrc_bytes))
    return result


class RoceData(NamedTuple):
    """A SEND or WRITE packet of an RC connection."""

    connection: tuple[bytes, bytes, int]
    """(source IP, destination IP, destination QPN)"""
    psn: int
    payload: bytes


_DPORT = (4791).to_bytes(2, "big")


def data_of(frame: bytes) -> RoceData | None:
    """What such a packet carries, taken as it stands: neither lengths nor the iCRC are judged. None for all else."""
    at = 42 if frame[12:14] == b"\x08\x00" else 62
    if len(frame) < at + 16 or frame[at - 6 : at - 4] != _DPORT or frame[at] not in _RC_DATA:
        return None
    ends = (26, 30, 34) if at == 42 else (22, 38, 54)
    source, dest = frame[ends[0] : ends[1]], frame[ends[1] : ends[2]]
    end = at - 8 + int.from_bytes(frame[at - 4 : at - 2], "big") - 4 - (frame[at + 1] >> 4 & 3)
    qpn, psn = int.from_bytes(frame[at + 5 : at + 8], "big"), int.from_bytes(frame[at + 9 : at + 12], "big")
    return RoceData((source, dest, qpn), psn, frame[at + 12 + _EXTENSION_BYTES[frame[at]] : end])
