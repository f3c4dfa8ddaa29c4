"""One RC queue pair: requester, responder and the codec between them and the wire."""

from __future__ import annotations

from ipaddress import ip_address

from workloads.config import QpConfig
from workloads.events import FrameRejected, RcStatistics
from workloads.rc.inbound import Inbound, inbound_icrc_is_valid
from workloads.rc.memory import MemoryRegions
from workloads.rc.outbound import FrameWriter
from workloads.rc.requester import Requester
from workloads.rc.requester_table import RequesterState
from workloads.rc.responder import Responder
from workloads.rc.responder_table import ResponderState
from workloads.rc.tally import Counters, Outbox
from workloads.wire import OPCODES, Aeth, Opcode, opcode_name

__all__ = ["QueuePair"]

# Requests of the RC service have codes below 0x20 (IBTA vol. 1, table 38); UC, RD and UD ones are for other QPs.
_RC_REQUESTS = frozenset(
    code
    for code, info in OPCODES.items()
    if code < 0x20 and (info.is_request or code in (Opcode.READ_REQUEST, Opcode.CMP_SWAP, Opcode.FETCH_ADD))
)


class QueuePair:
    """Both roles of one QP. If one half fails, so does the other."""

    def __init__(self, config: QpConfig, regions: MemoryRegions, outbox: Outbox) -> None:
        self.config = config
        self._outbox, self._counters = outbox, Counters()
        self.requester = Requester(config, self._counters, outbox)
        self.responder = Responder(config, regions, self._counters, outbox)
        self.writer = FrameWriter(config.envelope, config.peer_qpn)

    def receive(self, packet: Inbound, now: int) -> None:
        """A packet from the peer's address to this QP."""
        if not inbound_icrc_is_valid(packet):
            self._counters.icrc_errors += 1
            self._reject("icrc", packet, "has a wrong iCRC")
        elif packet.syndrome is not None and packet.opcode == Opcode.ACKNOWLEDGE:
            self.requester.on_answer(packet.psn, packet.syndrome, now)
            if self.requester.state is RequesterState.ERROR:
                self.responder.shut()
        elif packet.opcode in _RC_REQUESTS:
            self.responder.on_request(packet)
            if self.responder.state is ResponderState.ERROR and self.requester.state is not RequesterState.ERROR:
                self.requester.flush()
        elif packet.opcode == Opcode.CNP:
            self._counters.cnps_received += 1
        else:
            self._reject("opcode", packet, "has an opcode that no RC queue pair of ours expects")

    def next_answer(self) -> bytes | None:
        """The next ACK or NAK frame, which has then left."""
        answers = self.responder.answers
        if not answers:
            return None
        psn, syndrome, msn = answers.popleft()
        aeth = (syndrome << 24 | msn).to_bytes(Aeth.LAYOUT.size, "big")
        return self.writer.write(Opcode.ACKNOWLEDGE, psn, False, aeth, b"")

    def next_request(self, now: int) -> bytes | None:
        """The next request frame, which has then left."""
        packet = self.requester.next_packet(now)
        if packet is None:
            return None
        return self.writer.write(packet.opcode, packet.psn, packet.ack_req, packet.extensions, packet.payload)

    def on_timer(self, now: int) -> None:
        self.requester.on_timer(now)
        if self.requester.state is RequesterState.ERROR:
            self.responder.shut()

    def statistics(self) -> RcStatistics:
        return self._counters.statistics(self.config.qpn)

    def _reject(self, reason: str, packet: Inbound, why: str) -> None:
        sender = ip_address(packet.envelope.src_ip)
        detail = f"{opcode_name(packet.opcode)} with PSN {packet.psn} from {sender} to QP {self.config.qpn:#x} {why}"
        self._outbox.events.append(FrameRejected(reason, detail))
