"""What others know a RoCE v2 packet by: its flow, opcode, PSN and syndrome. The reading is lenient (neither the IPv4
checksum nor the iCRC is verified): a packet that a link has damaged stays the same packet. `testbed/faults/rules.h`
reads frames by the same rules."""

from __future__ import annotations

import ipaddress
from functools import lru_cache
from typing import NamedTuple

from workloads.machine import Buffer
from workloads.wire.envelope import IPV4, IPV4_WORDS, IPV6, ROCE_PORT, UDP
from workloads.wire.headers import BTH_WORDS, Aeth, Bth
from workloads.wire.icrc import ICRC_BYTES
from workloads.wire.layout import packer_of
from workloads.wire.opcodes import Opcode
from workloads.wire.places import (
    DPORT,
    DST_IP,
    ETHERTYPE,
    ETHERTYPE_AT,
    IP_AT,
    IS_IPV4,
    PROTOCOL_AT,
    UDP_LENGTH_AT,
    UDP_PAYLOAD6_AT,
    UDP_PAYLOAD_AT,
)  # fmt: skip

__all__ = ["Flow", "Recognised", "address_text", "flow_text", "recognise", "target_of"]

Flow = tuple[bytes, bytes, int]
"""(source IP, destination IP, destination QPN)"""
_IPV4 = packer_of(IPV4_WORDS, UDP.words(), BTH_WORDS)
"""IPv4 without options, UDP, BTH"""
_IPV6 = packer_of(IPV6.words(("version", "flow_label"), octets=("src", "dst")), UDP.words(), BTH_WORDS)
_BTH_BYTES, _AETH_BYTES, _IPV4_BYTES, _UDP_BYTES = Bth.LAYOUT.size, Aeth.LAYOUT.size, IPV4.size, UDP.size
_MORE_FRAGMENTS = 0x3FFF
"""flag of more fragments, and the fragment's offset"""
_UDP = 17
_PORT_BYTES = ROCE_PORT.to_bytes(2, "big")
_ACKNOWLEDGE = int(Opcode.ACKNOWLEDGE)


class Recognised(NamedTuple):
    addresses: Flow
    opcode: int
    psn: int
    syndrome: int
    """of an ACKNOWLEDGE; else 0"""
    transport_at: int
    """offset of the BTH"""
    end: int
    """offset behind the iCRC"""


def recognise(frame: Buffer) -> Recognised | None:
    """None: not a well-formed RoCE v2 frame. Never raises."""
    size = len(frame)
    if size < IP_AT + _IPV4.size:
        return None
    ethertype = frame[ETHERTYPE_AT] << 8 | frame[ETHERTYPE_AT + 1]
    if ethertype == 0x0800 and frame[IP_AT] == 0x45:
        (_, _, length, _, fragment, _, protocol, _, src, dst, _, port, udp_length, _, opcode, _, _, qpn, psn) = (
            _IPV4.unpack_from(frame, IP_AT)
        )
        if protocol != _UDP or fragment & _MORE_FRAGMENTS or port != ROCE_PORT or length != udp_length + _IPV4_BYTES:
            return None
        at = UDP_PAYLOAD_AT
    elif ethertype == 0x86DD and frame[IP_AT] >> 4 == 6 and size >= IP_AT + _IPV6.size:
        (_, length, protocol, _, src, dst, _, port, udp_length, _, opcode, _, _, qpn, psn) = _IPV6.unpack_from(
            frame, IP_AT
        )
        if protocol != _UDP or port != ROCE_PORT or length != udp_length:
            return None
        at = UDP_PAYLOAD6_AT
    else:
        return None
    end = at - _UDP_BYTES + udp_length
    if end > size or udp_length < _UDP_BYTES + _BTH_BYTES + ICRC_BYTES:
        return None
    has_aeth = opcode == _ACKNOWLEDGE and end >= at + _BTH_BYTES + _AETH_BYTES + ICRC_BYTES
    syndrome = frame[at + _BTH_BYTES] if has_aeth else 0
    return Recognised((src, dst, qpn & 0xFFFFFF), opcode, psn & 0xFFFFFF, syndrome, at, end)


def target_of(frame: Buffer) -> bytes | None:
    """IPv4 address that a RoCE v2 frame goes to, whatever is inside. None: no such frame."""
    head = bytes(frame[:UDP_LENGTH_AT])
    if head[DPORT] != _PORT_BYTES or head[ETHERTYPE] != IS_IPV4 or head[IP_AT] != 0x45 or head[PROTOCOL_AT] != _UDP:
        return None
    return head[DST_IP]


def flow_text(flow: Flow | None) -> str:
    """`srcip>dstip:qpn`; empty for no flow."""
    if flow is None:
        return ""
    return f"{address_text(flow[0])}>{address_text(flow[1])}:{flow[2]}"


@lru_cache(1024)
def address_text(address: bytes) -> str:
    return str(ipaddress.ip_address(address))
