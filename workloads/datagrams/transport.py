"""Aggregation datagrams as a transport."""

from __future__ import annotations

from functools import lru_cache
from types import MappingProxyType

from workloads.machine import Buffer
from workloads.transports.kind import UDP_PAYLOAD_AT, SentAs, ShownHeader, TransportKind, udp_port_of
from workloads.wire.aggregation import AGGREGATION, AGGREGATION_PORT, DatagramFlag, DatagramKind, Policy
from workloads.wire.layout import packer_of
from workloads.wire.places import ADDRESSES
from workloads.wire.recognised import address_text

__all__ = ["DATAGRAMS"]

_HEADER = packer_of(AGGREGATION.words(("version", "policy"), only=("kind", "flags", "job", "sequence")))
_KINDS = {int(kind): kind.name.lower() for kind in DatagramKind}
_RESEND = int(DatagramFlag.RESEND)
"""values as numbers: an Enum is slow for what is asked of each packet that a fault hits"""


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
        number, flags, job, sequence = _HEADER.unpack_from(frame, UDP_PAYLOAD_AT)
        kind = _KINDS.get(number) or f"kind {number}"
        return SentAs(_flow_text(bytes(frame[ADDRESSES]), job), kind, sequence, again=bool(flags & _RESEND))


@lru_cache(4096)
def _flow_text(addresses: bytes, job: int) -> str:
    """`addresses`: of the sender and of the receiver."""
    return f"{address_text(addresses[:4])}>{address_text(addresses[4:])} job {job}"


DATAGRAMS = _Datagrams()
