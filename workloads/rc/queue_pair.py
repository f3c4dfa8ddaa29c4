"""One RC queue pair: requester, responder and the codec between them and the wire."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from ipaddress import ip_address

from workloads.config import QpConfig
from workloads.events import CnpSent, CongestionStatistics, FrameRejected, RcStatistics, TrimmedCame
from workloads.rc.answers import answer_extensions
from workloads.rc.attention import Attention
from workloads.rc.dcqcn import NotificationPoint, ReactionPoint
from workloads.rc.inbound import Inbound, inbound_icrc_is_valid, inbound_is_trimmed
from workloads.rc.memory import MemoryRegions
from workloads.rc.outbound import FrameWriter
from workloads.rc.recoveries import RECOVERIES, Receiver
from workloads.rc.requester import Requester
from workloads.rc.tally import Counters, Outbox
from workloads.transports.messages import ReceiveRequest, SendRequest
from workloads.wire import OPCODES, Bth, Opcode, Packet, encode_packet, opcode_name

__all__ = ["QueuePair"]

# Requests of the RC service have codes below 0x20 (IBTA vol. 1, table 38); UC, RD and UD ones are for other QPs.
_RC_REQUESTS = frozenset(
    code
    for code, info in OPCODES.items()
    if code < 0x20 and (info.is_request or code in (Opcode.READ_REQUEST, Opcode.CMP_SWAP, Opcode.FETCH_ADD))
)


_CNP_TOS = 0xC2
"""DSCP 48, ECT(0): as a ConnectX-4 Lx sends it (scapy's test suite, test/contrib/roce.uts)"""


class QueuePair:
    """Both roles of one QP. If one half fails, so does the other."""

    def __init__(self, config: QpConfig, regions: MemoryRegions, outbox: Outbox, attention: Attention) -> None:
        self.config = config
        self._outbox, self.counters = outbox, Counters()
        recovery = RECOVERIES[config.recovery]
        self._answer_opcode = recovery.answer
        self.requester = Requester(config, self.counters, outbox)
        self.responder: Receiver = recovery.receiver(config, regions, self.counters, outbox)
        self.writer = FrameWriter(config.envelope, config.peer_qpn)
        self.notification: NotificationPoint | None = None
        self.reaction: ReactionPoint | None = None
        """both are None without congestion control"""
        self._notices = 0
        """CNPs that want to be sent"""
        if config.dcqcn is not None:
            self.notification = NotificationPoint(config.dcqcn.cnp_interval_ns)
            self.reaction = ReactionPoint(config.dcqcn, config.qpn, outbox)
        self._attention, self._bit = attention, attention.add(self)

    def touch(self) -> None:
        """What it has to do may have changed. Code that changes its halves directly must call this."""
        self._attention.touch(self._bit)

    def post_send(self, request: SendRequest) -> None:
        self.touch()
        self.requester.post(request)

    def post_receives(self, requests: Sequence[ReceiveRequest]) -> None:
        self.touch()
        self.responder.post_receives(requests)

    def receive(self, packet: Inbound, now: int) -> None:
        """A packet from the peer's address to this QP."""
        self.touch()
        if self.config.trimming and packet.opcode in _RC_REQUESTS and inbound_is_trimmed(packet):
            self._on_trimmed(packet, now)
        elif not inbound_icrc_is_valid(packet):
            self.counters.icrc_errors += 1
            self._reject("icrc", packet, "has a wrong iCRC")
        elif packet.opcode == self._answer_opcode:
            self.requester.on_answer(packet, now)
            if self.requester.failed:
                self.responder.shut()
        elif packet.opcode in _RC_REQUESTS:
            if self.notification is not None and packet.is_marked:
                self._on_marked(self.notification, packet, now)
            self.responder.on_request(packet)
            if self.responder.failed and not self.requester.failed:
                self.requester.flush()
        elif packet.opcode == Opcode.CNP:
            self.counters.cnps_received += 1
            if self.reaction is not None:
                self.reaction.on_cnp(now)
        else:
            self._reject("opcode", packet, "has an opcode that no RC queue pair of ours expects")

    def _on_trimmed(self, packet: Inbound, now: int) -> None:
        if self.notification is not None and packet.is_marked:
            self._on_marked(self.notification, packet, now)
        self._outbox.events.append(TrimmedCame(self.config.qpn, packet.psn))
        self.responder.on_trimmed(packet)

    def _on_marked(self, notification: NotificationPoint, packet: Inbound, now: int) -> None:
        if notification.on_marked(now):
            self._notices += 1
            self._outbox.events.append(CnpSent(self.config.qpn, packet.psn))

    @property
    def has_answer(self) -> bool:
        return self._notices > 0 or bool(self.responder.answers)

    def next_answer(self) -> bytes | None:
        """The next CNP or answer frame, which has then left."""
        self.touch()
        if self._notices:
            self._notices -= 1
            return self._cnp()
        answers = self.responder.answers
        if not answers:
            return None
        answer = answers.popleft()
        opcode, extensions = answer_extensions(answer)
        return self.writer.write(opcode, answer.psn, False, extensions, answer.payload)

    def _cnp(self) -> bytes:
        """A CNP consumes no PSN, is never acknowledged, and has BECN set."""
        bth = Bth(Opcode.CNP, self.config.peer_qpn, 0, becn=1)
        payload = bytes(OPCODES[Opcode.CNP].trailer_bytes)
        return encode_packet(Packet(replace(self.config.envelope, tos=_CNP_TOS), bth, payload))

    @property
    def has_request(self) -> bool:
        """A request may leave as far as congestion control allows it."""
        return self.requester.can_send

    def can_send(self, now: int) -> bool:
        """A request may leave now."""
        return self.requester.can_send and (self.reaction is None or self.reaction.may_send(now))

    @property
    def deadline(self) -> int | None:
        """When it wants `on_timer`; None: never."""
        first = self.requester.deadline
        if self.reaction is None:
            return first
        second = self.reaction.deadline
        return first if second is None or (first is not None and first < second) else second

    def next_request(self, now: int) -> bytes | None:
        """The next request frame, which has then left."""
        self.touch()
        packet = self.requester.next_packet(now)
        if packet is None:
            return None
        frame = self.writer.write(packet.opcode, packet.psn, packet.ack_req, packet.extensions, packet.payload)
        if self.reaction is not None:
            self.reaction.on_sent(len(frame), now)
        return frame

    def on_timer(self, now: int) -> None:
        self.touch()
        if self.reaction is not None:
            self.reaction.on_timer(now)
        self.requester.on_timer(now)
        if self.requester.failed:
            self.responder.shut()

    def statistics(self) -> RcStatistics:
        return self.counters.statistics(self.config.qpn)

    def congestion(self) -> CongestionStatistics | None:
        """Counters of congestion control; None without it."""
        if self.notification is None or self.reaction is None:
            return None
        marked, reaction = self.notification, self.reaction
        return CongestionStatistics(self.config.qpn, marked.marked, marked.notices, reaction.cnps, reaction.cuts)

    def _reject(self, reason: str, packet: Inbound, why: str) -> None:
        sender = ip_address(packet.envelope.src_ip)
        detail = f"{opcode_name(packet.opcode)} with PSN {packet.psn} from {sender} to QP {self.config.qpn:#x} {why}"
        self._outbox.events.append(FrameRejected(reason, detail))
