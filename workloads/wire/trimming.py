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

__all__ = ["TRIMMED_DSCP", "for_reserve", "trim", "trimmed_icrc"]

TRIMMED_DSCP = 11
_IP_AT, _TYPE_AT, _SPORT_BYTES = 14, 12, 2
_HEADS = {
    code: Bth.LAYOUT.size + sum(EXTENSIONS[name].LAYOUT.size for name in info.extensions)
    for code, info in OPCODES.items()
}
"""bytes of BTH and extension headers, by opcode"""
_DATA = frozenset(code for code, info in OPCODES.items() if code < 0x20 and info.is_request)
_ANSWERS = frozenset({Opcode.ACKNOWLEDGE, Opcode.IRN_ANSWER, Opcode.CNP})
_PAD_BITS = 0x30


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
    end, kept = udp_at + int.from_bytes(data[at - 4 : at - 2], "big"), at + _HEADS[data[at]]
    if end > len(data) or end - ICRC_BYTES <= kept:
        return None
    wrong = _xor(data[end - ICRC_BYTES : end], icrc_of(memoryview(data)[_IP_AT : end - ICRC_BYTES]))
    head = bytearray(data[:kept])
    head[at + 1] &= ~_PAD_BITS
    head[at - 4 : at - 2] = (kept + ICRC_BYTES - udp_at).to_bytes(2, "big")
    if data[_TYPE_AT] == 0x08:
        head[_IP_AT + 1] = TRIMMED_DSCP << 2 | head[_IP_AT + 1] & 3
        head[_IP_AT + 2 : _IP_AT + 4] = (kept + ICRC_BYTES - _IP_AT).to_bytes(2, "big")
        head[_IP_AT + 10 : _IP_AT + 12] = ipv4_checksum(head[_IP_AT:udp_at]).to_bytes(2, "big")
    else:
        word = int.from_bytes(head[_IP_AT : _IP_AT + 2], "big")
        head[_IP_AT : _IP_AT + 2] = (word & 0xF03F | TRIMMED_DSCP << 6).to_bytes(2, "big")
        head[_IP_AT + 4 : _IP_AT + 6] = (kept + ICRC_BYTES - udp_at).to_bytes(2, "big")
    return bytes(head) + _xor(trimmed_icrc(memoryview(head)[_IP_AT:]), wrong)


def _transport_at(frame: Buffer) -> int | None:
    """Where the BTH of a RoCE v2 frame begins that has all headers of its opcode; None where there is none."""
    if len(frame) < _IP_AT + IPV4.size + UDP.size + Bth.LAYOUT.size:
        return None
    kind, first = bytes(frame[_TYPE_AT:_IP_AT]), frame[_IP_AT]
    if kind == b"\x08\x00" and first == 0x45 and frame[_IP_AT + 9] == 17:
        at = _IP_AT + IPV4.size + UDP.size
    elif kind == b"\x86\xdd" and first >> 4 == 6 and frame[_IP_AT + 6] == 17:
        at = _IP_AT + IPV6.size + UDP.size
    else:
        return None
    port_at = at - UDP.size + _SPORT_BYTES
    if int.from_bytes(frame[port_at : port_at + 2], "big") != ROCE_PORT or len(frame) <= at:
        return None
    return at if len(frame) >= at + _HEADS.get(frame[at], len(frame)) + ICRC_BYTES else None


def _xor(left: bytes, right: bytes) -> bytes:
    return bytes(a ^ b for a, b in zip(left, right, strict=True))
