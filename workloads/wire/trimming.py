"""Packets that a full queue cut down to their headers.

    Eth | IPv4/6, DSCP 11, length of what is left | UDP, likewise | BTH, pad 0 | [RETH] | [ImmDt] | iCRC

Rule 1: a SEND or WRITE packet of a reliable connection loses its payload and pad. All else of its headers stays, the
ECN bits too.
Rule 2: the DSCP says that it was trimmed, as switches that trim have it. The value 11, which is NVIDIA's default, lies
in the pool for experiments and local use (RFC 2474, section 6).
Rule 3: the iCRC is the complement of the right one over what is left. A receiver that does not know trimming sees a
damaged packet and drops it, as the full queue would have. A receiver that knows trimming sees from it that the headers
are whole. A packet that was damaged before stays damaged.

Source of the idea: NDP (M. Handley et al., SIGCOMM 2017); marks in docs/trimming.md.
"""

from __future__ import annotations

from workloads.machine import Buffer
from workloads.wire.envelope import IPV4, IPV6, ROCE_PORT, UDP, ipv4_checksum
from workloads.wire.headers import Bth
from workloads.wire.icrc import ICRC_BYTES, icrc_of
from workloads.wire.opcodes import OPCODES, Opcode
from workloads.wire.packet import EXTENSIONS
from workloads.wire.places import (
    CHECKSUM,
    ETHERTYPE,
    IP_AT,
    IS_IPV4,
    IS_IPV6,
    PROTOCOL6_AT,
    PROTOCOL_AT,
    TOS_AT,
    UDP_PAYLOAD6_AT,
    UDP_PAYLOAD_AT,
)

__all__ = ["TRIMMED_DSCP", "for_reserve", "trim", "trimmed_icrc"]

TRIMMED_DSCP = 11
_HEADS = {
    code: Bth.LAYOUT.size + sum(EXTENSIONS[name].LAYOUT.size for name in info.extensions)
    for code, info in OPCODES.items()
}
"""bytes of BTH and extension headers, by opcode"""
_DATA = frozenset(code for code, info in OPCODES.items() if code < 0x20 and info.is_request)
_ANSWERS = frozenset({Opcode.ACKNOWLEDGE, Opcode.IRN_ANSWER, Opcode.CNP})
_PAD_AT, _, _PAD_SHIFT = Bth.LAYOUT.octets("pad")
_PAD_BITS = 3 << _PAD_SHIFT
_PORT_BEFORE = UDP.size - UDP.octets("dport")[0]
"""bytes from the receiver's port to the BTH"""


def trimmed_icrc(ip_to_pad: Buffer) -> bytes:
    """The iCRC of a trimmed packet; `ip_to_pad` as of `icrc_of`."""
    return _xor(icrc_of(ip_to_pad), b"\xff" * ICRC_BYTES)


def for_reserve(frame: Buffer) -> tuple[bytes, bool] | None:
    """What enters the reserve of a full queue in place of a frame, and whether it was trimmed for that. Data is cut to
    its headers. Packets cut already, and answers (ACK, NAK, CNP, those of IRN), stay as they are. None: nothing enters.
    """
    at = _transport_at(frame)
    if at is None:
        return None
    opcode = frame[at]
    if opcode in _ANSWERS:
        return bytes(frame), False
    if opcode not in _DATA:
        return None
    if len(frame) <= at + _HEADS[opcode] + ICRC_BYTES:
        return bytes(frame), False
    cut = trim(frame)
    return None if cut is None else (cut, True)


def trim(frame: Buffer) -> bytes | None:
    """A frame without its payload; None when it carries none, or is no SEND or WRITE packet of a reliable connection,
    or contradicts itself."""
    at = _transport_at(frame)
    if at is None or frame[at] not in _DATA:
        return None
    data = bytes(frame)
    udp_at = at - UDP.size
    length = UDP.span("length", udp_at)
    end, kept = udp_at + int.from_bytes(data[length], "big"), at + _HEADS[data[at]]
    if end > len(data) or end - ICRC_BYTES <= kept:
        return None
    wrong = _xor(data[end - ICRC_BYTES : end], icrc_of(memoryview(data)[IP_AT : end - ICRC_BYTES]))
    head = bytearray(data[:kept])
    head[at + _PAD_AT] &= ~_PAD_BITS
    head[length] = (kept + ICRC_BYTES - udp_at).to_bytes(2, "big")
    if data[ETHERTYPE] == IS_IPV4:
        head[TOS_AT] = TRIMMED_DSCP << 2 | head[TOS_AT] & 3
        head[IPV4.span("length", IP_AT)] = (kept + ICRC_BYTES - IP_AT).to_bytes(2, "big")
        head[CHECKSUM] = ipv4_checksum(head[IP_AT:udp_at]).to_bytes(2, "big")
    else:
        word = int.from_bytes(head[IP_AT : IP_AT + 2], "big")
        head[IP_AT : IP_AT + 2] = (word & 0xF03F | TRIMMED_DSCP << 6).to_bytes(2, "big")
        head[IPV6.span("length", IP_AT)] = (kept + ICRC_BYTES - udp_at).to_bytes(2, "big")
    return bytes(head) + _xor(trimmed_icrc(memoryview(head)[IP_AT:]), wrong)


def _transport_at(frame: Buffer) -> int | None:
    """Where the BTH of a RoCE v2 frame begins that has all headers of its opcode; None where there is none."""
    if len(frame) < UDP_PAYLOAD_AT + Bth.LAYOUT.size:
        return None
    kind, first = bytes(frame[ETHERTYPE]), frame[IP_AT]
    if kind == IS_IPV4 and first == 0x45 and frame[PROTOCOL_AT] == 17:
        at = UDP_PAYLOAD_AT
    elif kind == IS_IPV6 and first >> 4 == 6 and frame[PROTOCOL6_AT] == 17:
        at = UDP_PAYLOAD6_AT
    else:
        return None
    port_at = at - _PORT_BEFORE
    if int.from_bytes(frame[port_at : port_at + 2], "big") != ROCE_PORT or len(frame) <= at:
        return None
    return at if len(frame) >= at + _HEADS.get(frame[at], len(frame)) + ICRC_BYTES else None


def _xor(left: bytes, right: bytes) -> bytes:
    return bytes(a ^ b for a, b in zip(left, right, strict=True))
