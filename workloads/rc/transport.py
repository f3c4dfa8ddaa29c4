"""Reliable connections (RC) as a transport."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum
from types import MappingProxyType
from typing import TYPE_CHECKING

from workloads.machine import Buffer
from workloads.rc.timers import ANSWER_BYTES, UNASKED_PACKETS, rc_span, rc_timer_keys, rc_timer_values
from workloads.transports.endpoint import LONGEST, ConnectedTransport
from workloads.transports.kind import SentAs
from workloads.transports.timing import TimerKey, TimerNeed
from workloads.wire.envelope import ETHERNET, ROCE_PORT, UDP, Envelope
from workloads.wire.headers import Aeth, Bth, ImmDt, Reth
from workloads.wire.icrc import ICRC_BYTES, icrc_of
from workloads.wire.layout import WireError
from workloads.wire.opcodes import OPCODES, Opcode, OpcodeInfo, opcode_name
from workloads.wire.packet import Packet, decode_packet, encode_packet
from workloads.wire.places import ETHERTYPE, IP_AT, IS_IPV4, UDP6_AT, UDP_AT
from workloads.wire.psn import psn_add, psn_diff
from workloads.wire.recognised import flow_text, recognise, target_of
from workloads.wire.syndrome import Nak, is_ack, is_nak, is_rnr, rnr_timer_ns

if TYPE_CHECKING:
    from workloads.config import QpConfig
    from workloads.rc.endpoint import RcEndpoint

__all__ = ["RELIABLE", "AnswerKind", "ReliableTransport", "RoceTransport", "frame_of_flow"]


class AnswerKind(Enum):
    """What a receiver says with an answer."""

    ACK = "it has all packets up to this one"
    WAIT = "it was not ready: the sender pauses"
    GAP = "a packet is missing"
    REFUSAL = "the request cannot be served"
    OTHER_NAK = "another NAK"
    UNKNOWN = "a reserved value"


_ANSWERS: Mapping[int, AnswerKind] = {
    Nak.PSN_SEQUENCE: AnswerKind.GAP, Nak.INVALID_REQUEST: AnswerKind.REFUSAL, Nak.REMOTE_ACCESS: AnswerKind.REFUSAL,
    Nak.REMOTE_OPERATIONAL: AnswerKind.REFUSAL,
}  # fmt: skip


_BTH_PARTS = {
    "opcode": "opcode", "pkey": "BTH flags and P_Key", "dest_qpn": "destination QPN", "ack_req": "AckReq", "psn": "PSN",
}  # fmt: skip
"""last field of each part that people know -> its name"""


class RoceTransport(ConnectedTransport):
    """Packets with a BTH: the opcode is the kind, the PSN is the number. Attempts are counted by both."""

    udp_port: int = ROCE_PORT
    message_parts: Mapping[int, OpcodeInfo] = OPCODES
    """number of a kind -> where such a packet stands in its message, and what it carries"""
    part_bytes: Mapping[str, int] = MappingProxyType(
        {layout.name: layout.size for layout in (Bth.LAYOUT, Reth.LAYOUT, ImmDt.LAYOUT, Aeth.LAYOUT)}
        | {"iCRC": ICRC_BYTES}
    )
    """sizes of the headers behind UDP"""
    changed_at = Bth.LAYOUT.octets("resv6")[0]
    """octet of the base header that the checksum leaves out, since switches may change it"""
    gap_code, ack_code, trimmed_code = int(Nak.PSN_SEQUENCE), 0, int(Nak.TRIMMED)
    """numbers of answers: a packet is missing; all came; only the headers of a packet came"""
    unserved_kinds = frozenset(map(int, (Opcode.READ_REQUEST, Opcode.CMP_SWAP, Opcode.FETCH_ADD)))
    """numbers of requests that our hosts refuse; each has a sequence number all the same"""
    after = staticmethod(psn_add)
    distance = staticmethod(psn_diff)
    kind_name = staticmethod(opcode_name)
    pause_ns = staticmethod(rnr_timer_ns)
    """how long an answer of kind WAIT asks the sender to pause"""
    span_of = staticmethod(rc_span)
    target_of = staticmethod(target_of)
    """IPv4 address that one of its frames goes to, whatever is inside; None: none of its frames"""

    def identify(self, frame: Buffer) -> SentAs | None:
        found = recognise(frame)
        if found is None:
            return None
        return SentAs(flow_text(found.addresses), opcode_name(found.opcode), found.psn)

    def describe(self, frame: Buffer) -> str:
        try:
            packet = decode_packet(frame)
        except WireError as error:
            return f"{len(frame)} bytes, {error}"
        if packet is None:
            return f"{len(frame)} bytes, not RoCE v2"
        ends = (".".join(map(str, ip)) if len(ip) == 4 else ip.hex(":", 2) for ip in packet.connection[:2])
        bth = packet.bth
        return f"{opcode_name(bth.opcode)} {' -> '.join(ends)} QPN {bth.dest_qpn:#x} PSN {bth.psn:#x}"

    def answer_kind(self, code: int) -> AnswerKind:
        """`code`: its number in the header."""
        if is_ack(code) or is_rnr(code):
            return AnswerKind.ACK if is_ack(code) else AnswerKind.WAIT
        found = _ANSWERS.get(code)
        return found or (AnswerKind.OTHER_NAK if is_nak(code) else AnswerKind.UNKNOWN)

    def parts_of(self, head: Buffer) -> tuple[tuple[int, str], ...]:
        """Ends of the headers of a frame, and of the fields of its base header, with their names for people."""
        udp = UDP_AT if head[ETHERTYPE] == IS_IPV4 else UDP6_AT
        bth = udp + UDP.size
        fields = (Bth.LAYOUT.span(name, bth).stop for name in _BTH_PARTS)
        return (
            (IP_AT, "Ethernet header"), (udp, "IP header"), (bth, "UDP header"),
            *zip(fields, _BTH_PARTS.values(), strict=True),
        )  # fmt: skip

    def sealed(self, frame: bytearray) -> bytes:
        """A frame that lacks its checksum, with it."""
        return bytes(frame) + icrc_of(memoryview(frame)[ETHERNET.size :])


def frame_of_flow(envelope: Envelope) -> bytes:
    """Some frame with these addresses and ports, for those who look up its way."""
    return encode_packet(Packet(envelope, Bth(Opcode.SEND_ONLY, 0, 0)))


class ReliableTransport(RoceTransport):
    name = "rc"
    summary = "RoCE v2 reliable connections"
    timers = MappingProxyType(
        {
            "retransmission": "no acknowledgement came: the requester goes back, or sends what is missing",
            "receiver not ready": "the peer asked for a pause: the request is sent again",
        }
    )
    transparent = "queue pairs, PSNs and answers, with a valid iCRC"
    is_reliable = True
    unasked_packets = UNASKED_PACKETS

    def endpoint(
        self, queue_pairs: Iterable[QpConfig] = (), *, longest: int = LONGEST, batches: bool = True
    ) -> RcEndpoint:
        from workloads.rc.endpoint import RcEndpoint  # here: plans and faults make none

        made = RcEndpoint(batches=batches)
        made.add_qps(queue_pairs)
        return made

    def timer_keys(self, *, resends_alone: bool = False) -> tuple[TimerKey, ...]:
        return rc_timer_keys(resends_alone=resends_alone)

    def timer_values(self, need: TimerNeed) -> Mapping[str, int]:
        return rc_timer_values(need)

    def answer_bytes(self, frame_bytes: int, /) -> int:
        return ANSWER_BYTES


RELIABLE = ReliableTransport()
