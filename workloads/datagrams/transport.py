"""Aggregation datagrams as a transport."""

from __future__ import annotations

import struct
from types import MappingProxyType

from workloads.machine import Buffer
from workloads.transports.kind import UDP_PAYLOAD_AT, SentAs, ShownHeader, TransportKind, udp_port_of
from workloads.wire.aggregation import AGGREGATION, AGGREGATION_PORT, DatagramFlag, DatagramKind, Policy
from workloads.wire.recognised import address_text

__all__ = ["DATAGRAMS"]

_HEADER = struct.Struct("!xBHHHI")
"""kind, flags, job, node, sequence"""
_KINDS = {int(kind): kind.name.lower() for kind in DatagramKind}
_RESEND = int(DatagramFlag.RESEND)
"""values as numbers: an Enum is slow for what is asked of each packet that a fault hits"""
_ADDRESSES_AT = 26


class _Datagrams(TransportKind):
    name = "datagrams"
    summary = "UDP with the 40-byte header of aggregation datagrams"
    kinds = MappingProxyType(
        {
            "data": "data", "exponents": "data", "result": "results", "reminder": "answers",
            "reminder_empty": "answers", "nack": "answers", "rate": "answers", "ack": "answers",
        }
    )  # fmt: skip
    udp_port: int = AGGREGATION_PORT
    header_bytes = AGGREGATION.size
    headers = (
        ShownHeader(
            AGGREGATION,
            "Aggregation datagram",
            {
                "policy": {int(policy): policy.name for policy in Policy},
                "kind": {int(kind): kind.name for kind in DatagramKind},
                "op": {0: "int32 wrapping sum", 1: "int32 saturating sum"},
            },
            "int32",
        ),
    )
    timers = MappingProxyType({"retransmission": "no answer came: the packet is sent again"})

    def identify(self, frame: Buffer) -> SentAs | None:
        if udp_port_of(frame) != AGGREGATION_PORT or len(frame) < UDP_PAYLOAD_AT + _HEADER.size:
            return None
        number, flags, job, _, sequence = _HEADER.unpack_from(frame, UDP_PAYLOAD_AT)
        kind = _KINDS.get(number) or f"kind {number}"
        source, target = (address_text(bytes(frame[start : start + 4])) for start in (_ADDRESSES_AT, _ADDRESSES_AT + 4))
        return SentAs(f"{source}>{target} job {job}", kind, sequence, again=bool(flags & _RESEND))


DATAGRAMS = _Datagrams()
