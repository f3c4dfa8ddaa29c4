"""The RC responder: what `responder_table` says, done. Decoded packets in, answers out; no bytes, no clock."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from ipaddress import ip_address
from typing import NamedTuple

from workloads.config import QpConfig
from workloads.events import NakSent, QpFailed, QpStepped, RnrNakSent
from workloads.rc.answers import Answer
from workloads.rc.inbound import Inbound
from workloads.rc.memory import MemoryRegions
from workloads.rc.responder_table import RESPONDER_TABLE, ResponderAction, ResponderEvent, ResponderState
from workloads.rc.tally import Counters, Outbox
from workloads.transports.messages import ReceiveCompleted, ReceiveRequest
from workloads.wire import ACK_UNLIMITED, OPCODES, PSN_MASK, Nak, OpcodeInfo, opcode_name, psn_add, psn_diff
from workloads.wire import rnr_syndrome as rnr_syndrome_of

__all__ = ["RequestArrival", "Responder"]

# (starts a message, ends it) -> position
_POSITION = {
    (True, False): ResponderEvent.FIRST,
    (False, False): ResponderEvent.MIDDLE,
    (False, True): ResponderEvent.LAST,
    (True, True): ResponderEvent.ONLY,
}
_SERVED_EXTENSIONS = {"reth", "imm"}
"""SEND with invalidate carries another one; READ and atomics are no SEND or WRITE"""
_NO_MEMORY = memoryview(bytearray())
_PLACED = RESPONDER_TABLE[ResponderState.IN_MESSAGE, ResponderEvent.MIDDLE].state
_FINISHED = RESPONDER_TABLE[ResponderState.IN_MESSAGE, ResponderEvent.LAST].state


def _in_bytes(request: ReceiveRequest) -> ReceiveRequest:
    memory = request.memory
    assert memory is not None
    if memory.readonly:
        raise ValueError(f"the memory of receive {request.wr_id} is read-only")
    if memory.format == "B" and memory.ndim == 1 and memory.contiguous:
        return request
    return ReceiveRequest(request.wr_id, memory.cast("B"))


class RequestArrival(NamedTuple):
    """What the fast path must know to place requests."""

    shut: bool
    """none is served any more"""
    place: memoryview | None
    """the rest of the memory of the message that is arriving; None between messages"""
    is_write: bool
    receives: int
    """posted"""
    unacknowledged: int
    """packets accepted since the last answer"""


@dataclass(slots=True)
class InMessage:
    """The message that is arriving."""

    is_write: bool
    memory: memoryview
    """destination: exactly the bytes that RETH named, or the whole receive buffer"""
    receive: ReceiveRequest | None
    """receive of a SEND"""
    offset: int = 0


class Responder:
    """Receives the messages of one queue pair. `answers` holds what wants to be sent, oldest first."""

    def __init__(self, config: QpConfig, regions: MemoryRegions, counters: Counters, outbox: Outbox) -> None:
        self._config, self._regions, self._counters, self._outbox = config, regions, counters, outbox
        self._traced = config.trace
        self.state = ResponderState.EXPECT_FIRST
        self.expected = config.peer_first_psn & PSN_MASK
        self.msn = 0
        self.answers: deque[Answer] = deque()
        self._receives: deque[ReceiveRequest] = deque()
        self._message: InMessage | None = None
        self._opening: InMessage | None = None
        """the message that the packet under judgement would open"""
        self._unacknowledged = 0
        """packets accepted since the last answer"""
        self._status, self._why = "", ""
        self.touched = True
        """set by whatever the fast path did not do itself; `arrival` may say something else since it was reset"""

    def post_receives(self, requests: Sequence[ReceiveRequest]) -> None:
        """Raises ValueError for read-only memory, TypeError when it is not contiguous."""
        self._receives.extend([each if each.memory is None else _in_bytes(each) for each in requests])
        self.touched = True

    def shut(self) -> None:
        """The requester half failed: no request is served any more."""
        self.state, self.touched = ResponderState.ERROR, True

    @property
    def failed(self) -> bool:
        """Whether it refused a request: it serves none any more."""
        return self.state is ResponderState.ERROR

    def on_request(self, packet: Inbound) -> None:
        """One request packet whose iCRC is right."""
        self.touched = True
        distance = psn_diff(packet.psn, self.expected)
        if distance:
            event = ResponderEvent.AHEAD if distance > 0 else ResponderEvent.DUPLICATE
            self._counters.duplicates_received += distance < 0
        else:
            event = self._judge(packet, OPCODES[packet.opcode])
        before = self.state
        self.state, actions = RESPONDER_TABLE[before, event]
        for action in actions:
            if action is ResponderAction.EXECUTE:
                self._execute(packet)
            elif action is ResponderAction.DELIVER:
                self._deliver(packet.imm)
            elif action is ResponderAction.ACK_IF_DUE:
                if packet.ack_req or self._unacknowledged >= self._config.ack_every:
                    self._acknowledge()
            elif action is ResponderAction.ACK:
                self._acknowledge()
            else:
                self._refuse(action, packet)
        if self._traced:
            self._tell_step(before, event)

    def on_trimmed(self, packet: Inbound) -> None:
        """The headers of a request packet whose payload a full queue took."""
        self.touched = True
        distance = psn_diff(packet.psn, self.expected)
        event = ResponderEvent.TRIMMED
        if distance:
            event = ResponderEvent.AHEAD if distance > 0 else ResponderEvent.DUPLICATE
        before = self.state
        self.state, actions = RESPONDER_TABLE[before, event]
        for action in actions:
            if action is ResponderAction.ACK:
                self._acknowledge()
            else:
                self._refuse(action, packet)
        if self._traced:
            self._tell_step(before, event)

    def _tell_step(self, before: ResponderState, event: ResponderEvent) -> None:
        names = before.name.lower(), event.name.lower(), self.state.name.lower()
        self._outbox.events.append(QpStepped(self._config.qpn, "responder", *names, self.expected))

    def arrival(self) -> RequestArrival:
        """Where the next request goes."""
        message = self._message
        if self.state is ResponderState.ERROR:
            return RequestArrival(True, None, False, len(self._receives), self._unacknowledged)
        if message is None:
            return RequestArrival(False, None, False, len(self._receives), self._unacknowledged)
        place = message.memory[message.offset :]
        return RequestArrival(False, place, message.is_write, len(self._receives), self._unacknowledged)

    def open_write(self, rkey: int, va: int, length: int) -> None:
        """The first packet of a WRITE to a registered range came; `placed` counts it."""
        memory = self._regions.find(rkey, va, length)
        assert memory is not None
        self._message = InMessage(True, memory, None)

    def placed(self, packets: int, size: int, expected: int, unacknowledged: int, answers: Sequence[int]) -> None:
        """`packets` packets in order, of `size` bytes in total, lie where `arrival` or `open_write` said. The next PSN
        is `expected`. `answers`: the PSNs that needed an ACK. `unacknowledged`: packets that came since the last of
        them."""
        assert self._message is not None
        self.state = _PLACED
        self._message.offset += size
        self.expected, self._unacknowledged = expected, unacknowledged
        counters = self._counters
        counters.packets_received += packets
        counters.acks_sent += len(answers)
        for psn in answers:
            self.answers.append(Answer(psn, ACK_UNLIMITED, self.msn))

    def answered(self, queued: int, duplicates: int, unacknowledged: int, naks: int, in_gap: bool) -> None:
        """`queued` ACKs were put into the queue, some of them for `duplicates` duplicates, and `naks` sequence NAKs.
        Then `unacknowledged` packets came. `in_gap`: none of them closed the gap of the last NAK."""
        self._counters.acks_sent += queued
        self._counters.duplicates_received += duplicates
        self._counters.naks_sent += naks
        self._unacknowledged = unacknowledged
        if in_gap:
            self.state = RESPONDER_TABLE[self.state, ResponderEvent.AHEAD].state

    def gap_showed(self, psn: int) -> None:
        """Report that a sequence NAK was put into the queue, for that PSN."""
        self._outbox.events.append(NakSent(self._config.qpn, int(Nak.PSN_SEQUENCE), psn))

    @property
    def has_gap(self) -> bool:
        """A sequence NAK was sent for the expected PSN."""
        return self.state is ResponderState.EXPECT_FIRST_GAP or self.state is ResponderState.IN_MESSAGE_GAP

    def set_answers(self, answers: Iterable[tuple[int, int]]) -> None:
        """What waits now, as (PSN, AETH)."""
        self.answers.clear()
        self.answers.extend(Answer(psn, aeth >> 24, aeth & PSN_MASK) for psn, aeth in answers)

    def close_write(self, imm: int | None, answer: bool) -> None:
        """The last of the `placed` packets was the end of its WRITE. With `answer`, an ACK must be sent for it."""
        self.state = _FINISHED
        self._deliver(imm)
        if answer:
            self.answers.append(Answer(psn_add(self.expected, -1), ACK_UNLIMITED, self.msn))
            self._counters.acks_sent += 1

    def closed_writes(self, count: int, packets: int, expected: int) -> None:
        """`count` WRITEs ended that its user knows of; `packets` brought them. The next PSN is `expected`."""
        self._message, self.state, self.touched = None, _FINISHED, True
        self.msn, self.expected = psn_add(self.msn, count), expected
        self._counters.packets_received += packets

    def taken_receives(self, count: int) -> int:
        """Take so many posted receives away, if there are. How many there were."""
        receives = self._receives
        taken = min(count, len(receives))
        for _ in range(taken):
            receives.popleft()
        return taken

    def _judge(self, packet: Inbound, info: OpcodeInfo) -> ResponderEvent:
        """The event for the expected PSN: its position, or what is wrong with it."""
        if not info.is_request or not _SERVED_EXTENSIONS.issuperset(info.extensions):
            return self._invalid("is an operation that is not served here")
        position = _POSITION[info.starts, info.ends]
        actions = RESPONDER_TABLE[self.state, position].actions
        if ResponderAction.EXECUTE not in actions:
            self._status, self._why = "LOC_QP_OP", "breaks the order FIRST, MIDDLE, LAST"
            return position
        trouble = self._open(packet, info) if info.starts else self._continue(packet, info)
        if trouble is None and info.is_write and info.has_imm and not self._receives:
            trouble = ResponderEvent.NO_RECEIVE
        return position if trouble is None else trouble

    def _open(self, packet: Inbound, info: OpcodeInfo) -> ResponderEvent | None:
        """Find the place of a new message."""
        size, mtu = len(packet.payload), self._config.path_mtu
        if size > mtu or (size < mtu and not info.ends):
            return self._invalid(f"carries {size} bytes at a path MTU of {mtu}")
        receive: ReceiveRequest | None = None
        if packet.reth is not None:
            rkey, va, length = packet.reth.rkey, packet.reth.va, packet.reth.length
            if size != length if info.ends else size >= length:
                return self._invalid(f"carries {size} bytes of {length} announced", "LOC_LEN")
            memory = self._regions.find(rkey, va, length) if length else _NO_MEMORY
            if memory is None:
                self._status = "LOC_ACCESS"
                self._why = f"names {length} bytes at {va:#x} of rkey {rkey:#x}, which are not registered"
                return ResponderEvent.NO_ACCESS
        elif self._receives:
            receive = self._receives[0]
            memory = _NO_MEMORY if receive.memory is None else receive.memory
            if size > len(memory):
                return self._invalid(f"carries {size} bytes into a receive of {len(memory)}", "LOC_LEN")
        else:
            return ResponderEvent.NO_RECEIVE
        self._opening = InMessage(info.is_write, memory, receive)
        return None

    def _continue(self, packet: Inbound, info: OpcodeInfo) -> ResponderEvent | None:
        message, size, mtu = self._message, len(packet.payload), self._config.path_mtu
        assert message is not None, "the table lets MIDDLE and LAST through inside a message only"
        if info.is_write != message.is_write:
            return self._invalid(f"continues a {'WRITE' if message.is_write else 'SEND'}")
        if size > mtu or (size < mtu and not info.ends) or size == 0:
            return self._invalid(f"carries {size} bytes at a path MTU of {mtu}")
        left = len(message.memory) - message.offset
        if size > left or (message.is_write and (size == left) != info.ends):
            return self._invalid(f"carries {size} bytes where {left} are left", "LOC_LEN")
        return None

    def _invalid(self, why: str, status: str = "LOC_QP_OP") -> ResponderEvent:
        self._status, self._why = status, why
        return ResponderEvent.INVALID

    def _execute(self, packet: Inbound) -> None:
        if OPCODES[packet.opcode].starts:
            self._message, self._opening = self._opening, None
            if not OPCODES[packet.opcode].is_write:
                self._receives.popleft()
        message, size = self._message, len(packet.payload)
        assert message is not None
        message.memory[message.offset : message.offset + size] = packet.payload
        message.offset += size
        self.expected = psn_add(self.expected, 1)
        self._unacknowledged += 1
        self._counters.packets_received += 1

    def _deliver(self, imm: int | None) -> None:
        message = self._message
        assert message is not None
        self._message = None
        self.msn = psn_add(self.msn, 1)
        receive = message.receive
        if receive is None and imm is not None:
            receive = self._receives.popleft()
        if receive is not None:
            completed = ReceiveCompleted(self._config.qpn, receive.wr_id, imm, message.offset)
            self._outbox.completions.append(completed)

    def _acknowledge(self) -> None:
        """Cumulative: names the last PSN received in order, the middle of a message or not."""
        self._answer(psn_add(self.expected, -1), ACK_UNLIMITED)
        self._counters.acks_sent += 1

    def _refuse(self, action: ResponderAction, packet: Inbound) -> None:
        qpn, psn = self._config.qpn, self.expected
        if action is ResponderAction.NAK_RNR:
            self._answer(psn, rnr_syndrome_of(self._config.rnr_timer_code))
            self._outbox.events.append(RnrNakSent(qpn, psn))
            return
        self._counters.naks_sent += 1
        if action is ResponderAction.NAK_SEQUENCE:
            syndrome = Nak.PSN_SEQUENCE
        else:
            syndrome = Nak.INVALID_REQUEST if action is ResponderAction.NAK_INVALID else Nak.REMOTE_ACCESS
            envelope = self._config.envelope
            detail = (
                f"{ip_address(envelope.dst_ip)} QP {self._config.peer_qpn:#x} -> {ip_address(envelope.src_ip)} "
                f"QP {qpn:#x}: {opcode_name(packet.opcode)} with PSN {psn} {self._why}"
            )
            self._outbox.events.append(QpFailed(qpn, self._status, psn, detail))
        self._answer(psn, syndrome)
        self._outbox.events.append(NakSent(qpn, int(syndrome), psn))

    def _answer(self, psn: int, syndrome: int) -> None:
        self._unacknowledged = 0
        self.answers.append(Answer(psn, int(syndrome), self.msn))
