"""Reliable connections (RC) as a transport."""

from __future__ import annotations

from workloads.machine import Buffer
from workloads.transports.kind import SentAs, TransportKind
from workloads.wire.envelope import ROCE_PORT, Envelope
from workloads.wire.headers import Bth
from workloads.wire.opcodes import Opcode, opcode_name
from workloads.wire.packet import Packet, encode_packet
from workloads.wire.recognised import flow_text, recognise

__all__ = ["RELIABLE", "RoceTransport", "frame_of_flow"]


class RoceTransport(TransportKind):
    """Packets with a BTH: the opcode is the kind, the PSN is the number. Attempts are counted by both."""

    udp_port: int = ROCE_PORT

    def __init__(
        self, name: str, summary: str, timers: dict[str, str], transparent: str = "", *, is_reliable: bool = False
    ) -> None:
        self.name, self.summary, self.timers, self.transparent = name, summary, timers, transparent
        self.is_reliable = is_reliable

    def identify(self, frame: Buffer) -> SentAs | None:
        found = recognise(frame)
        if found is None:
            return None
        return SentAs(flow_text(found.addresses), opcode_name(found.opcode), found.psn)


def frame_of_flow(envelope: Envelope) -> bytes:
    """Some frame with these addresses and ports, for those who look up its way."""
    return encode_packet(Packet(envelope, Bth(Opcode.SEND_ONLY, 0, 0)))


RELIABLE = RoceTransport(
    "rc",
    "RoCE v2 reliable connections",
    {
        "retransmission": "no acknowledgement came: the requester goes back, or sends what is missing",
        "receiver not ready": "the peer asked for a pause: the request is sent again",
    },
    "queue pairs, PSNs and answers, with a valid iCRC",
    is_reliable=True,
)
