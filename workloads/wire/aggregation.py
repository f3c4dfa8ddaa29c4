"""Aggregation datagrams: one 40-byte header over UDP that SwitchML, ATP, ESA, GRID and repairs share, and its codec.

No released system has this wire format (`docs/switchml.md`, "On the wire"). It is Ethernet, IPv4, UDP to port 0xACE0,
the header, then `nelem` elements of 32 bits, all in network byte order. The UDP checksum (RFC 768) is always there, so
damaged datagrams are detected. IPv6 is not supported.
"""

from __future__ import annotations

import struct
from enum import IntEnum, IntFlag
from typing import NamedTuple

from workloads.machine import Buffer
from workloads.wire.envelope import ETHERNET_WORDS, IPV4, IPV4_WORDS, UDP, Envelope, ipv4_checksum
from workloads.wire.layout import Field, Layout, WireError, packer_of
from workloads.wire.places import (
    CHECKSUM,
    DPORT,
    ETHERTYPE,
    FRAGMENT,
    IP_AT,
    IS_IPV4,
    PROTOCOL_AT,
    SRC_IP_AT,
    UDP_AT,
    UDP_CHECKSUM,
    UDP_PAYLOAD_AT,
)  # fmt: skip

__all__ = [
    "AGGREGATION",
    "AGGREGATION_OVERHEAD_BYTES",
    "AGGREGATION_PORT",
    "MAX_ELEMENTS",
    "MAX_GRID_ELEMENTS",
    "SEQUENCES",
    "AggregationHeader",
    "Datagram",
    "DatagramError",
    "DatagramFlag",
    "DatagramKind",
    "Policy",
    "decode_datagram",
    "encode_datagram",
    "payload_sum",
]

AGGREGATION_PORT = 0xACE0
MAX_ELEMENTS = 256
MAX_GRID_ELEMENTS = 2048
"""most elements for policy GRID, whose switches have no pipeline to fit a packet into"""
SEQUENCES = 1 << 32
"""sequence numbers; packet k of a job (from 0) has number k + 1, modulo this"""
_VERSION = 1

AGGREGATION = Layout(
    "Aggregation",
    Field("version", 4, "1"),
    Field("policy", 4, "1 SwitchML, 2 ATP, 3 ESA, 4 GRID, 5 repair, 6 parameter server, 7 DLCP"),
    Field("kind", 8, "0 DATA, 1 RESULT, 2 REMINDER, 3 REMINDER_EMPTY, 4 NACK, 5 RATE, 6 EXPONENTS, 7 ACK"),
    Field(
        "flags",
        16,
        "0 RESEND, 1 COLLISION, 2 EVICTED, 3 ECN, 4 OVERFLOW, 5 EDGE, 6 VERSION, 7 LAST, 8 EMPTY, 9 UNWANTED",
    ),
    Field("job", 16, "id of the job"),
    Field(
        "node",
        16,
        "switch that must aggregate (GRID); rack of bitmap0, from 1 (ATP, ESA, PS with more than 32 workers); 0: none",
    ),
    Field("sequence", 32, "packet of the job, from 1, never reset"),
    Field("slot", 16, "aggregator index"),
    Field("new_slot", 16, "index to use from now on (ATP, ESA)"),
    Field("bitmap0", 32, "workers whose contribution is inside; by their places in rack `node` if it names one"),
    Field("bitmap1", 32, "racks whose contribution is inside (ATP, ESA, PS)"),
    Field("fan_in0", 8, "workers of the job"),
    Field("fan_in1", 8, "racks of the job (ATP, ESA)"),
    Field("priority", 8, "larger wins (ESA)"),
    Field("op", 8, "0 int32 wrapping sum, 1 int32 saturating sum, 2 XOR, 3 GF(2^8): repair"),
    Field("exponent0", 8, "int8, of the first half of a block; repair: the coefficient"),
    Field("exponent1", 8, "int8, of the second half"),
    Field("nelem", 16, "elements behind this header, at most 256 (GRID: 2048)"),
    Field("server", 32, "IPv4 address of the parameter server (ATP, ESA)"),
    Field("tensor", 32, "which tensor of the job"),
    source="decided here (docs/switchml.md)",
)


class Policy(IntEnum):
    SWITCHML = 1
    ATP = 2
    ESA = 3
    GRID = 4
    REPAIR = 5
    PS = 6
    DLCP = 7


class DatagramKind(IntEnum):
    DATA = 0
    RESULT = 1
    REMINDER = 2
    REMINDER_EMPTY = 3
    NACK = 4
    RATE = 5
    EXPONENTS = 6
    ACK = 7


class DatagramFlag(IntFlag):
    """Bit n of `flags`, counted from the lowest."""

    RESEND = 1
    COLLISION = 2
    EVICTED = 4
    ECN = 8
    OVERFLOW = 16
    EDGE = 32
    VERSION = 64
    LAST = 128
    EMPTY = 256
    """the contribution is zeros, which are omitted"""
    UNWANTED = 512
    """its sender, or its receiver, needs no elements of the sum: they are omitted"""


class DatagramError(WireError):
    """A datagram to our port that cannot be used."""

    def __init__(self, reason: str, detail: str) -> None:
        self.reason = reason
        """checksum, malformed"""
        super().__init__(detail)


class AggregationHeader(NamedTuple):
    """Field by field as in `AGGREGATION`; what a policy does not use is 0."""

    policy: int
    kind: int
    job: int
    sequence: int
    slot: int
    bitmap0: int
    fan_in0: int
    nelem: int = 0
    flags: int = 0
    exponent0: int = 0
    """-128 .. 127"""
    exponent1: int = 0
    tensor: int = 0
    op: int = 0
    node: int = 0
    new_slot: int = 0
    bitmap1: int = 0
    fan_in1: int = 0
    priority: int = 0
    server: int = 0


class Datagram(NamedTuple):
    """A decoded datagram."""

    src_mac: bytes
    src_ip: bytes
    dst_ip: bytes
    sport: int
    header: AggregationHeader
    payload: memoryview
    """part of the frame with `nelem` elements; copy what is kept"""


_FRAME = packer_of(
    ETHERNET_WORDS,
    IPV4_WORDS,
    UDP.words(),
    AGGREGATION.words(("version", "policy"), signed=("exponent0", "exponent1")),
)
"""Ethernet, IPv4 without options, UDP, the header"""
_IP = IPV4.size
_CHECKED_FROM = SRC_IP_AT
"""start of what the UDP checksum covers: the addresses, UDP and all behind it; the protocol and the length count too"""
AGGREGATION_OVERHEAD_BYTES = _FRAME.size
"""bytes of a frame before its elements"""
_ETHERTYPE, _NO_OPTIONS, _PROTOCOL = 0x0800, 0x45, 17
_KINDS, _POLICIES = frozenset(DatagramKind), frozenset(Policy)
_MORE_FRAGMENTS = 0x3FFF
_LONG = 512
"""bytes from which on NumPy's overhead pays"""


def _most(policy: int) -> int:
    return MAX_GRID_ELEMENTS if policy == Policy.GRID else MAX_ELEMENTS


def payload_sum(payload: Buffer) -> int:
    """The ones' complement sum of a payload of whole 16-bit words: for many datagrams with one payload. Since 2^16 is 1
    modulo 2^16 - 1, the payload as one number has the same rest as the sum of its words. The sum of larger words has it
    too, but for the order of bytes (RFC 1071, section 2), and is faster for long payloads."""
    if len(payload) < _LONG or len(payload) % 4:
        return int.from_bytes(payload, "big") % 0xFFFF
    import numpy as np  # here: faults and plans read layouts alone

    return int(np.frombuffer(payload, "<u4").sum(dtype=np.uint64)) * 256 % 0xFFFF


def encode_datagram(
    envelope: Envelope, dport: int, header: AggregationHeader, payload: Buffer, summed: int | None = None
) -> bytes:
    """The Ethernet frame. `summed`: `payload_sum(payload)` where it is known. Raises DatagramError when a value does
    not fit or `nelem` is not the payload's."""
    h, e = header, envelope
    if len(payload) != 4 * h.nelem or h.nelem > _most(h.policy):
        raise DatagramError("malformed", f"{h.nelem} elements and {len(payload)} bytes of payload")
    udp_bytes = _FRAME.size - UDP_AT + len(payload)
    try:
        head = bytearray(
            _FRAME.pack(
                e.dst_mac, e.src_mac, _ETHERTYPE, _NO_OPTIONS, e.tos, udp_bytes + _IP, e.ident, e.flags_fragment, e.ttl,
                _PROTOCOL,
                0, e.src_ip, e.dst_ip, e.sport, dport, udp_bytes, 0, _VERSION << 4 | h.policy, h.kind, h.flags, h.job,
                h.node, h.sequence, h.slot, h.new_slot, h.bitmap0, h.bitmap1, h.fan_in0, h.fan_in1, h.priority, h.op,
                h.exponent0, h.exponent1, h.nelem, h.server, h.tensor,
            )
        )  # fmt: skip
    except struct.error as error:
        raise DatagramError("malformed", f"a field does not fit: {error}") from None
    head[CHECKSUM] = ipv4_checksum(head[IP_AT:UDP_AT]).to_bytes(2, "big")
    total = payload_sum(payload) if summed is None else summed
    head[UDP_CHECKSUM] = _udp_checksum(head, udp_bytes, total).to_bytes(2, "big")
    return b"".join((head, payload))


def _udp_checksum(head: bytearray, udp_bytes: int, payload_total: int) -> int:
    """RFC 768, over a head whose checksum field is 0; never 0, which would say that there is none."""
    total = payload_sum(head[_CHECKED_FROM : _FRAME.size]) + udp_bytes + _PROTOCOL + payload_total
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF or 0xFFFF


def decode_datagram(frame: Buffer) -> Datagram | None:
    """None when the frame is not UDP to our port over IPv4. Raises DatagramError when it is, and cannot be used."""
    view = memoryview(frame)
    if (
        len(view) < UDP_PAYLOAD_AT
        or view[ETHERTYPE] != IS_IPV4
        or view[IP_AT] != _NO_OPTIONS
        or view[PROTOCOL_AT] != _PROTOCOL
        or int.from_bytes(view[DPORT], "big") != AGGREGATION_PORT
        or int.from_bytes(view[FRAGMENT], "big") & _MORE_FRAGMENTS
    ):
        return None
    if len(view) < _FRAME.size:
        raise DatagramError("malformed", f"{len(view)} bytes, the headers alone have {_FRAME.size}")
    (
        _, src_mac, _, _, _, length, _, _, _, _, checksum, src_ip, dst_ip, sport, _, udp_bytes, _, version, kind,
        flags, job,
        node, sequence, slot, new_slot, bitmap0, bitmap1, fan_in0, fan_in1, priority, op, exponent0, exponent1, nelem,
        server, tensor,
    ) = _FRAME.unpack_from(view)  # fmt: skip
    end = _FRAME.size + 4 * nelem
    if length != udp_bytes + _IP or end != UDP_AT + udp_bytes or end > len(view) or nelem > _most(version & 15):
        raise DatagramError("malformed", f"IP says {length} bytes, UDP {udp_bytes}, the header {nelem} elements")
    if checksum != ipv4_checksum(view[IP_AT:UDP_AT]):
        raise DatagramError("checksum", "the IPv4 header checksum is wrong")
    payload = view[_FRAME.size : end]
    if (payload_sum(view[_CHECKED_FROM:end]) + udp_bytes + _PROTOCOL) % 0xFFFF:
        raise DatagramError("checksum", "the UDP checksum is wrong")
    if version >> 4 != _VERSION or version & 15 not in _POLICIES or kind not in _KINDS or not fan_in0:
        raise DatagramError("malformed", f"version and policy {version:#04x}, kind {kind}, fan-in {fan_in0}")
    header = AggregationHeader(
        version & 15, kind, job, sequence, slot, bitmap0, fan_in0, nelem, flags, exponent0, exponent1, tensor, op, node,
        new_slot, bitmap1, fan_in1, priority, server,
    )  # fmt: skip
    return Datagram(src_mac, src_ip, dst_ip, sport, header, payload)
