"""IRN, the receiving half of a queue pair: packets go to their places in whatever order they come, messages complete in
order.

A packet that needs a receive and finds none posted is dropped like a lost one: IRN has no RNR NAK.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from ipaddress import ip_address
from typing import NamedTuple

from workloads.config import QpConfig
from workloads.events import FrameRejected, NakSent, QpFailed
from workloads.rc.answers import Answer
from workloads.rc.inbound import Inbound
from workloads.rc.irn_arrivals import Arrivals
from workloads.rc.memory import MemoryRegions
from workloads.rc.tally import Counters, Outbox
from workloads.transports.messages import ReceiveCompleted, ReceiveRequest
from workloads.wire import PSN_MASK, Nak, Opcode, Sack, continues, opcode_name, psn_add, psn_diff

__all__ = ["MOST_AHEAD", "IrnReceiver", "Kept"]

MOST_AHEAD = 1 << 16
"""packets kept behind a gap: many times any window"""
_OPCODES = (Opcode.WRITE_FIRST, Opcode.WRITE_ONLY, Opcode.WRITE_ONLY_IMM)
_ACK = 0
_NO_MEMORY = memoryview(bytearray())


class Kept(NamedTuple):
    """What a packet says in addition to its bytes, which are in place."""

    starts: bool
    """whether it is the first of its message"""
    size: int
    length: int
    """length of the message, as RETH says"""
    imm: int | None
    """the packet ends its message"""


class IrnReceiver:
    """A Receiver. Messages without an end so far, and packets behind a gap, lie in memory already."""

    def __init__(self, config: QpConfig, regions: MemoryRegions, counters: Counters, outbox: Outbox) -> None:
        self._config, self._regions, self._counters, self._outbox = config, regions, counters, outbox
        self.expected = config.peer_first_psn & PSN_MASK
        self.msn = 0
        self.answers: deque[Answer] = deque()
        self.arrivals = Arrivals()
        self._receives: deque[ReceiveRequest] = deque()
        self.kept: dict[int, Kept] = {}
        """packets that came and are not delivered, by PSN"""
        self._size: int | None = None
        """bytes of the message that is arriving, up to the expected packet; None between messages"""
        self._failed = False

    @property
    def failed(self) -> bool:
        return self._failed

    def post_receives(self, requests: Sequence[ReceiveRequest]) -> None:
        for request in requests:
            if request.memory is not None:
                raise ValueError(
                    f"receive {request.wr_id} has memory: under IRN every packet says itself where it goes"
                )
        self._receives.extend(requests)

    def shut(self) -> None:
        self._failed = True

    def on_request(self, packet: Inbound) -> None:
        if self._failed:
            return
        distance = psn_diff(packet.psn, self.expected)
        if distance >= MOST_AHEAD:
            self._drop("too_far", packet, f"is {distance} packets ahead")
            return
        if distance < 0 or self.arrivals.has(distance):
            self._counters.duplicates_received += 1
        elif not self._take(packet, distance):
            return
        if distance <= 0:
            self._answer(_ACK, packet)
            self._counters.acks_sent += 1
        else:
            self._answer(Nak.PSN_SEQUENCE, packet)
            self._counters.naks_sent += 1

    def on_trimmed(self, packet: Inbound) -> None:
        """The headers of a request packet without its payload, which a full queue cut. The receiver asks for it by
        name, unless another copy of it came."""
        if self._failed:
            return
        distance = psn_diff(packet.psn, self.expected)
        if distance >= MOST_AHEAD:
            self._drop("too_far", packet, f"is {distance} packets ahead")
        elif distance < 0:
            self._answer(_ACK, packet)
            self._counters.acks_sent += 1
        else:
            self._answer(Nak.PSN_SEQUENCE if self.arrivals.has(distance) else Nak.TRIMMED, packet)
            self._counters.naks_sent += 1

    def _take(self, packet: Inbound, distance: int) -> bool:
        """A packet that was not here yet. False: it is not answered, or was refused."""
        size, ends = len(packet.payload), packet.imm is not None
        if packet.opcode not in _OPCODES or packet.reth is None:
            return self._refuse(packet, Nak.INVALID_REQUEST, "LOC_QP_OP", "is an operation that IRN does not carry")
        mtu, rkey, va = self._config.path_mtu, packet.reth.rkey, packet.reth.va
        if size > mtu or (size < mtu and not ends):
            why = f"carries {size} bytes at a path MTU of {mtu}"
            return self._refuse(packet, Nak.INVALID_REQUEST, "LOC_QP_OP", why)
        memory = self._regions.find(rkey, va, size) if size else _NO_MEMORY
        if memory is None:
            why = f"names {size} bytes at {va:#x} of rkey {rkey:#x}, which are not registered"
            return self._refuse(packet, Nak.REMOTE_ACCESS, "LOC_ACCESS", why)
        memory[:] = packet.payload
        starts = not continues(packet.opcode, packet.reth.length, size)
        self.kept[packet.psn] = Kept(starts, size, packet.reth.length, packet.imm)
        self._counters.packets_received += 1
        if distance and not self.arrivals.has_gap:
            self.gap_showed(self.expected)
        self.arrivals.take(distance)
        while self.arrivals.has_expected:
            if not self._deliver(packet, self.kept.pop(self.expected)):
                return False
        return True

    def _deliver(self, packet: Inbound, kept: Kept) -> bool:
        """The expected packet is here."""
        if kept.starts != (self._size is None):
            return self._refuse(packet, Nak.INVALID_REQUEST, "LOC_QP_OP", "breaks the order FIRST, MIDDLE, LAST")
        size = (self._size or 0) + kept.size
        if size > kept.length or (kept.imm is not None and size != kept.length):
            why = f"makes {size} bytes of a message of {kept.length}"
            return self._refuse(packet, Nak.INVALID_REQUEST, "LOC_LEN", why)
        if kept.imm is not None and not self._receives:
            self.arrivals.forget_expected()
            self._counters.packets_received -= 1
            self._drop("no_receive", packet, "ends a message, and no receive is posted for it")
            return False
        self.arrivals.advance()
        self._size, self.expected = size, psn_add(self.expected, 1)
        if kept.imm is None:
            return True
        self.msn = psn_add(self.msn, 1)
        self.completed(kept.imm, size)
        self._size = None
        return True

    def gap_showed(self, expected: int) -> None:
        """The first packet behind a gap came; that PSN is missing."""
        self._outbox.events.append(NakSent(self._config.qpn, int(Nak.PSN_SEQUENCE), expected))

    def completed(self, imm: int, size: int) -> None:
        """The oldest receive has a message of `size` bytes."""
        receive = self._receives.popleft()
        self._outbox.completions.append(ReceiveCompleted(self._config.qpn, receive.wr_id, imm, size))

    @property
    def standing(self) -> tuple[int, int, int, int]:
        """(expected PSN, MSN, receives that are posted, bytes of the message that is arriving or -1)"""
        return self.expected, self.msn, len(self._receives), -1 if self._size is None else self._size

    def went_on(self, expected: int, msn: int, size: int) -> None:
        """Compiled code received for it, up to there; the values are those of `standing`."""
        self.expected, self.msn, self._size = expected, msn, None if size < 0 else size

    def _answer(self, syndrome: int, packet: Inbound) -> None:
        self.answers.append(Answer(packet.psn, int(syndrome), self.msn, Sack(self.expected, packet.psn)))

    def _refuse(self, packet: Inbound, syndrome: Nak, status: str, why: str) -> bool:
        """Always False."""
        self._failed = True
        self._counters.naks_sent += 1
        qpn = self._config.qpn
        self._outbox.events.append(QpFailed(qpn, status, self.expected, self._told(packet, why)))
        self._answer(syndrome, packet)
        self._outbox.events.append(NakSent(qpn, int(syndrome), self.expected))
        return False

    def _drop(self, reason: str, packet: Inbound, why: str) -> None:
        self._outbox.events.append(FrameRejected(reason, self._told(packet, why)))

    def _told(self, packet: Inbound, why: str) -> str:
        """For a person."""
        config, envelope = self._config, self._config.envelope
        return (
            f"{ip_address(envelope.dst_ip)} QP {config.peer_qpn:#x} -> {ip_address(envelope.src_ip)} "
            f"QP {config.qpn:#x}: {opcode_name(packet.opcode)} with PSN {packet.psn} {why}"
        )
