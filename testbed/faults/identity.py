"""The identity of a frame: flow, opcode, PSN and syndrome of a RoCE v2 packet, the CRC of anything else. It includes
whose frame it is, if it belongs to a transport that is no RoCE: `kind`, `sequence` and `attempt` of a Match are for
such frames too.

`rules.h` gives the same identities.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import NamedTuple

from testbed.faults.connections import Flow
from testbed.faults.decide import flow_key, frame_key, identity_key, packet_word
from workloads.datagrams.transport import DATAGRAMS
from workloads.machine import Buffer
from workloads.transports import SentAs, TransportKind
from workloads.transports.kind import udp_port_of
from workloads.wire.recognised import flow_text, recognise

__all__ = ["NOT_ROCE", "Identity", "IdentityReader", "datagram_text", "flow_text", "sent_text"]

NOT_ROCE = -1
"""opcode of a frame that is not RoCE v2"""


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
    transport: TransportKind | None = None
    """transport of the frame, if that is not RoCE; None: not known"""


class IdentityReader:
    """Reads identities; remembers the keys of flows it saw."""

    def __init__(self, transports: Sequence[TransportKind] = (DATAGRAMS,)) -> None:
        """`transports`: whose frames may come; RoCE is always known."""
        self._keys: dict[Flow, int] = {}
        self._by_port = {each.udp_port: each for each in transports if each.kinds and each.udp_port}
        self._others = tuple(each for each in transports if each.kinds and each.udp_port is None)

    def read(self, frame: Buffer) -> Identity:
        """Never raises: what is not a well-formed RoCE v2 frame has an identity of its bytes."""
        found = recognise(frame)
        if found is None:
            return self._of_bytes(frame)
        flow = found.addresses
        key = self._keys.get(flow)
        if key is None:
            key = self._keys[flow] = flow_key(*flow)
        word = packet_word(found.opcode, found.psn, found.syndrome)
        return Identity(
            identity_key(key, word), key, found.opcode, found.psn, found.syndrome, flow, found.transport_at, found.end
        )

    def _of_bytes(self, frame: Buffer) -> Identity:
        size = len(frame)
        flow = frame_key(zlib.crc32(frame), size)
        key = identity_key(flow, 0)
        return Identity(key, flow, NOT_ROCE, 0, 0, None, 0, size, self.transport_of(frame))

    def transport_of(self, frame: Buffer) -> TransportKind | None:
        """Of a frame that is not RoCE; None: not known."""
        port = udp_port_of(frame)
        if port is not None and port in self._by_port:
            return self._by_port[port]
        return next((each for each in self._others if each.identify(frame) is not None), None)


def datagram_text(frame: Buffer, transport: TransportKind | None, key: int) -> str:
    """As `FaultStruck.packet`; empty where no transport but RoCE knows the frame. `key`: its identity. Never raises."""
    sent = None if transport is None else transport.identify(frame)
    return "" if sent is None else sent_text(sent, key)


def sent_text(sent: SentAs, key: int) -> str:
    """The same of a packet that its transport knows."""
    again = " again" if sent.again else ""
    attempt = f", attempt {sent.attempt}" if sent.attempt else ""
    return f"{sent.kind}{again} {sent.flow} packet {sent.sequence}{attempt} #{key:016x}"
