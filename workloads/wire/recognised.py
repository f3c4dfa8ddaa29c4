"""What others know a RoCE v2 packet by: its flow, opcode, PSN and syndrome. The reading is lenient (neither the IPv4
checksum nor the iCRC is verified): a packet that a link has damaged stays the same packet. `testbed/faults/rules.h`
reads frames by the same rules."""

from __future__ import annotations

import ipaddress
import struct
from functools import lru_cache
from typing import NamedTuple

from workloads.machine import Buffer
from workloads.wire.envelope import ROCE_PORT
from workloads.wire.opcodes import Opcode

__all__ = ["Flow", "Recognised", "address_text", "flow_text", "recognise"]

Flow = tuple[bytes, bytes, int]
"""(source IP, destination IP, destination QPN)"""
_IPV4 = struct.Struct("!BBHHHBBH4s4sHHHHBBHII")
"""IPv4 without options, UDP, BTH"""
_IPV6 = struct.Struct("!IHBB16s16sHHHHBBHII")
_IP_AT = 14
_BTH_BYTES, _AETH_BYTES, _ICRC_BYTES, _UDP_BYTES = 12, 4, 4, 8
_MORE_FRAGMENTS = 0x3FFF
"""flag of more fragments, and the fragment's offset"""
_UDP = 17
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
    if size < _IP_AT + _IPV4.size:
        return None
    ethertype = frame[12] << 8 | frame[13]
    if ethertype == 0x0800 and frame[_IP_AT] == 0x45:
        (_, _, length, _, fragment, _, protocol, _, src, dst, _, port, udp_length, _, opcode, _, _, qpn, psn) = (
            _IPV4.unpack_from(frame, _IP_AT)
        )
        if protocol != _UDP or fragment & _MORE_FRAGMENTS or port != ROCE_PORT or length != udp_length + 20:
            return None
        at = _IP_AT + 28
    elif ethertype == 0x86DD and frame[_IP_AT] >> 4 == 6 and size >= _IP_AT + _IPV6.size:
        (_, length, protocol, _, src, dst, _, port, udp_length, _, opcode, _, _, qpn, psn) = _IPV6.unpack_from(
            frame, _IP_AT
        )
        if protocol != _UDP or port != ROCE_PORT or length != udp_length:
            return None
        at = _IP_AT + 48
    else:
        return None
    end = at - _UDP_BYTES + udp_length
    if end > size or udp_length < _UDP_BYTES + _BTH_BYTES + _ICRC_BYTES:
        return None
    has_aeth = opcode == _ACKNOWLEDGE and end >= at + _BTH_BYTES + _AETH_BYTES + _ICRC_BYTES
    syndrome = frame[at + _BTH_BYTES] if has_aeth else 0
    return Recognised((src, dst, qpn & 0xFFFFFF), opcode, psn & 0xFFFFFF, syndrome, at, end)


def flow_text(flow: Flow | None) -> str:
    """`srcip>dstip:qpn`; empty for no flow."""
    if flow is None:
        return ""
    return f"{address_text(flow[0])}>{address_text(flow[1])}:{flow[2]}"


@lru_cache(1024)
def address_text(address: bytes) -> str:
    return str(ipaddress.ip_address(address))
