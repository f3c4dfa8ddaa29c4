"""The identity of a frame: flow, opcode, PSN and syndrome of a RoCE v2 packet, the CRC of anything else. It includes
whether the frame is a datagram of an aggregation protocol, which `attempt` of a Match uses too.

`rules.h` reads frames by the same rules. The reading is lenient (the IPv4 checksum is not verified): a fault must know
a packet again that another link has damaged.
"""

from __future__ import annotations

import ipaddress
import struct
import zlib
from functools import lru_cache
from typing import NamedTuple

from testbed.faults.connections import Flow
from testbed.faults.decide import flow_key, frame_key, identity_key, packet_word
from workloads.machine import Buffer
from workloads.wire import ROCE_PORT, Opcode
from workloads.wire.aggregation import AGGREGATION_PORT, DatagramFlag, DatagramKind

__all__ = ["NOT_ROCE", "Identity", "IdentityReader", "datagram_text", "flow_text"]

NOT_ROCE = -1
"""opcode of a frame that is not RoCE v2"""

_IPV4 = struct.Struct("!BBHHHBBH4s4sHHHHBBHII")
"""IPv4 without options, UDP, BTH"""
_IPV6 = struct.Struct("!IHBB16s16sHHHHBBHII")
_IP_AT = 14
_BTH_BYTES, _AETH_BYTES, _ICRC_BYTES, _UDP_BYTES = 12, 4, 4, 8
_FRAGMENT = 0x3FFF
"""more-fragments flag and fragment offset"""
_UDP = 17
_FRAGMENT_AT, _PROTOCOL_AT, _PORT_AT, _KIND_AT = 20, 23, 36, 43
"""byte positions of IPv4 without options"""
_HEADER_AT, _HEADER = 42, struct.Struct("!xBHHHI")
"""position and layout of the header of an aggregation datagram: kind, flags, job, node, sequence"""


_KINDS = {int(kind): kind.name.lower() for kind in DatagramKind}
_RESEND = int(DatagramFlag.RESEND)
"""values as numbers: an Enum is slow for what is asked of each packet that a fault hits"""


class Identity(NamedTuple):
    key: int
    """64 bits for all of it; occurrences are counted by it"""
    flow: int
    """flow_key, or frame_key when it is not RoCE"""
    opcode: int
    psn: int
    syndrome: int
    """syndrome of an ACKNOWLEDGE; else 0"""
    addresses: Flow | None
    transport_at: int
    """offset of the BTH"""
    end: int
    """offset behind the iCRC"""
    datagram: bool = False
    """whether it is not RoCE, but UDP over IPv4 to the port of aggregation protocols"""


class IdentityReader:
    """Reads identities; remembers the keys of flows it saw."""

    def __init__(self) -> None:
        self._keys: dict[Flow, int] = {}

    def read(self, frame: Buffer) -> Identity:
        """Never raises: what is not a well-formed RoCE v2 frame has an identity of its bytes."""
        size = len(frame)
        if size >= _IP_AT + _IPV4.size:
            ethertype = frame[12] << 8 | frame[13]
            if ethertype == 0x0800 and frame[_IP_AT] == 0x45:
                found = self._read_ipv4(frame, size)
                if found is not None:
                    return found
            elif ethertype == 0x86DD and frame[_IP_AT] >> 4 == 6 and size >= _IP_AT + _IPV6.size:
                found = self._read_ipv6(frame, size)
                if found is not None:
                    return found
        flow = frame_key(zlib.crc32(frame), size)
        return Identity(identity_key(flow, 0), flow, NOT_ROCE, 0, 0, None, 0, size, _is_datagram(frame, size))

    def _read_ipv4(self, frame: Buffer, size: int) -> Identity | None:
        (_, _, length, _, fragment, _, protocol, _, src, dst, _, port, udp_length, _, opcode, _, _, qpn, psn) = (
            _IPV4.unpack_from(frame, _IP_AT)
        )
        if protocol != _UDP or fragment & _FRAGMENT or port != ROCE_PORT or length != udp_length + 20:
            return None
        return self._identity(frame, size, _IP_AT + 28, udp_length, (src, dst, qpn & 0xFFFFFF), opcode, psn & 0xFFFFFF)

    def _read_ipv6(self, frame: Buffer, size: int) -> Identity | None:
        (_, length, protocol, _, src, dst, _, port, udp_length, _, opcode, _, _, qpn, psn) = _IPV6.unpack_from(
            frame, _IP_AT
        )
        if protocol != _UDP or port != ROCE_PORT or length != udp_length:
            return None
        return self._identity(frame, size, _IP_AT + 48, udp_length, (src, dst, qpn & 0xFFFFFF), opcode, psn & 0xFFFFFF)

    def _identity(
        self, frame: Buffer, size: int, at: int, udp_length: int, flow: Flow, opcode: int, psn: int
    ) -> Identity | None:
        end = at - _UDP_BYTES + udp_length
        if end > size or udp_length < _UDP_BYTES + _BTH_BYTES + _ICRC_BYTES:
            return None
        has_aeth = opcode == Opcode.ACKNOWLEDGE and end >= at + _BTH_BYTES + _AETH_BYTES + _ICRC_BYTES
        syndrome = frame[at + _BTH_BYTES] if has_aeth else 0
        key = self._keys.get(flow)
        if key is None:
            key = self._keys[flow] = flow_key(*flow)
        word = packet_word(opcode, psn, syndrome)
        return Identity(identity_key(key, word), key, opcode, psn, syndrome, flow, at, end)


def _is_datagram(frame: Buffer, size: int) -> bool:
    """Read like RoCE: no fragment, a port where it belongs."""
    return (
        size >= _IP_AT + 40
        and (frame[12], frame[13], frame[_IP_AT], frame[_PROTOCOL_AT]) == (0x08, 0x00, 0x45, _UDP)
        and not (frame[_FRAGMENT_AT] << 8 | frame[_FRAGMENT_AT + 1]) & _FRAGMENT
        and frame[_PORT_AT] << 8 | frame[_PORT_AT + 1] == AGGREGATION_PORT
    )


def datagram_text(frame: Buffer, identity: Identity) -> str:
    """As `FaultStruck.packet`, of a frame with `identity.datagram`; empty for every other one. Never raises."""
    if not identity.datagram or len(frame) < _HEADER_AT + _HEADER.size:
        return ""
    kind, flags, job, _, sequence = _HEADER.unpack_from(frame, _HEADER_AT)
    what = _KINDS.get(kind) or f"kind {kind}"
    again = " again" if flags & _RESEND else ""
    source, target = (_address_text(bytes(frame[at : at + 4])) for at in (_IP_AT + 12, _IP_AT + 16))
    return f"{what}{again} {source}>{target} job {job} packet {sequence} #{identity.key:016x}"


def flow_text(flow: Flow | None) -> str:
    """`srcip>dstip:qpn`; empty for no flow."""
    if flow is None:
        return ""
    return f"{_address_text(flow[0])}>{_address_text(flow[1])}:{flow[2]}"


@lru_cache(1024)
def _address_text(address: bytes) -> str:
    return str(ipaddress.ip_address(address))
