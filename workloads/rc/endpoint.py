"""An RC endpoint: many queue pairs behind one network port, as a Machine."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from ipaddress import ip_address

from workloads.config import QpConfig
from workloads.events import FrameRejected
from workloads.machine import Buffer, Event, FrameBatch
from workloads.rc.attention import Attention, members
from workloads.rc.compiled import can_be_compiled
from workloads.rc.fast import FastPath, load_fast_path
from workloads.rc.inbound import RoceFrameReader
from workloads.rc.irn_compiled import can_be_compiled_irn
from workloads.rc.irn_fast import IrnFastPath, load_irn_fast_path
from workloads.rc.irn_native_endpoint import NativeIrnEndpoint
from workloads.rc.memory import MemoryRegions
from workloads.rc.native_endpoint import NativeRcEndpoint
from workloads.rc.queue_pair import QueuePair
from workloads.rc.tally import Outbox
from workloads.transports.endpoint import NativeEndpoint
from workloads.transports.messages import Completion, ReceiveRequest, SendRequest
from workloads.wire import WireError, opcode_name

__all__ = ["PORT", "RcEndpoint"]

PORT = 0
"""an endpoint has one port"""
_TURN_PACKETS = 256
"""request packets that one queue pair may send before the next one has its turn"""
_MOST_SKIPPED = 15


class RcEndpoint:
    """Five verbs towards the network; post, poll and statistics towards the user.

    Answers leave before requests. Queue pairs take turns. A request packet is cut out of its message when the caller
    takes its frame, so that a NAK turns the sender back at once.
    """

    def __init__(self, *, batches: bool = True) -> None:
        """`batches`: as of `ConnectedTransport.endpoint`."""
        self._batches = batches
        self._outbox, self._regions, self._reader = Outbox(), MemoryRegions(), RoceFrameReader()
        self._qps: dict[int, QueuePair] = {}
        self._by_connection: dict[tuple[bytes, bytes, int], QueuePair] = {}
        self._addresses: set[bytes] = set()
        self._order: list[QueuePair] = []
        self._attention = Attention()
        self._turn = self._turn_packets = 0
        self._fast = self._fast_path()

    def add_qp(self, config: QpConfig) -> None:
        """Raises ValueError when the number is taken."""
        self.add_qps((config,))

    def add_qps(self, configs: Iterable[QpConfig]) -> None:
        """Raises ValueError when a number is taken."""
        for config in configs:
            if config.qpn in self._qps:
                raise ValueError(f"QP {config.qpn:#x} exists already")
            qp = QueuePair(config, self._regions, self._outbox, self._attention)
            envelope = config.envelope
            self._qps[config.qpn] = qp
            self._by_connection[envelope.dst_ip, envelope.src_ip, config.qpn] = qp
            self._addresses.add(envelope.src_ip)
            self._order.append(qp)
        self._fast = self._fast_path()

    def _fast_path(self) -> FastPath | IrnFastPath | None:
        """For the queue pairs that there are; all must be of one kind."""
        fast: FastPath | IrnFastPath | None = None
        if not self._batches:
            return None
        if all(map(can_be_compiled, self._order)):
            fast = load_fast_path()
        elif all(map(can_be_compiled_irn, self._order)):
            fast = load_irn_fast_path()
        if fast is not None:
            fast.set_qps(self._order, self._attention)
            fast.set_regions(self._regions)
        return fast

    def register_memory(self, rkey: int, base_va: int, memory: memoryview, *, endless: bool = False) -> None:
        """Let every peer WRITE to `memory` by `rkey`. The peer knows it as the addresses from `base_va` on. `endless`:
        addresses behind the end begin at the start again, so every message may have addresses of its own. Raises
        ValueError for a key that is taken or read-only memory, TypeError when it is not contiguous."""
        self._regions.register(rkey, base_va, memory, endless=endless)
        if self._fast is not None:
            self._fast.set_regions(self._regions)

    def release_memory(self, rkey: int) -> None:
        """The opposite of `register_memory`, for a region that no message will write to any more. A packet that comes
        again is a duplicate, which is answered and not placed. Raises KeyError for a key that is not registered."""
        self._regions.release(rkey)
        if self._fast is not None:
            self._fast.set_regions(self._regions)

    def post_send(self, qpn: int, request: SendRequest, now: int) -> None:
        """Completes by `SendCompleted`, at once with FLUSH on a failed QP. Raises KeyError for an unknown QP,
        ValueError or TypeError for a request that no packet can carry."""
        self._qps[qpn].post_send(request)

    def post_receive(self, qpn: int, request: ReceiveRequest) -> None:
        """Completes by `ReceiveCompleted`, in the order of posting. Raises KeyError for an unknown QP, ValueError or
        TypeError for memory that cannot be written."""
        self._qps[qpn].post_receives((request,))

    def post_receives(self, qpn: int, requests: Sequence[ReceiveRequest]) -> None:
        """As `post_receive`, one after the other: a window has hundreds."""
        self._qps[qpn].post_receives(requests)

    def outstanding_packets(self, qpn: int) -> int:
        """PSNs of messages posted to `qpn` that are not acknowledged yet, sent or not."""
        return self._qps[qpn].requester.outstanding

    @property
    def queue_pairs(self) -> Sequence[QueuePair]:
        """Queue pairs in the order of `add_qp`."""
        return self._order

    @property
    def turn(self) -> tuple[int, int, int]:
        """(queue pair that sends at present, request packets that it sent in its turn, how many it may send)"""
        return self._turn, self._turn_packets, _TURN_PACKETS

    def set_turn(self, turn: int, packets: int) -> None:
        """The first two of `turn`."""
        self._turn, self._turn_packets = turn, packets

    def hold(self) -> NativeEndpoint | None:
        """The object that hands this endpoint, with its present queue pairs, to compiled code. None if there is no
        compiled code or a queue pair is not over IPv4."""
        if self._fast is None or any(len(qp.config.envelope.src_ip) != 4 for qp in self._order):
            return None
        return (
            NativeRcEndpoint(self, self._fast)
            if isinstance(self._fast, FastPath)
            else NativeIrnEndpoint(self, self._fast)
        )

    def next_completion(self) -> Completion | None:
        """The oldest completion that the caller has not taken yet."""
        completions = self._outbox.completions
        return completions.popleft() if completions else None

    @property
    def has_news(self) -> bool:
        """Whether there is a completion or an event that the caller has not taken yet."""
        return bool(self._outbox.completions or self._outbox.events)

    def statistics(self) -> tuple[Event, ...]:
        """RcStatistics of every queue pair, in the order of `add_qp`; then CongestionStatistics of those with DCQCN."""
        congestion = (found for qp in self._order if (found := qp.congestion()) is not None)
        return *(qp.statistics() for qp in self._order), *congestion

    def receive_frame(self, port: int, frame: Buffer, now: int) -> None:
        """Frames that are not RoCE v2 or not for an address of ours are ignored. Other useless frames are reported."""
        try:
            packet = self._reader.read(frame)
        except WireError as error:
            self._outbox.events.append(FrameRejected("malformed", str(error)))
            return
        if packet is None:
            return
        envelope = packet.envelope
        qp = self._by_connection.get((envelope.src_ip, envelope.dst_ip, packet.dest_qpn))
        if qp is not None:
            qp.receive(packet, now)
        elif envelope.dst_ip in self._addresses:
            detail = (
                f"{opcode_name(packet.opcode)} with PSN {packet.psn} from {ip_address(envelope.src_ip)} is for QP "
                f"{packet.dest_qpn:#x}, which is not connected to that address"
            )
            self._outbox.events.append(FrameRejected("unknown_qp", detail))

    def frames_to_send(self, now: int) -> Iterator[tuple[int, Buffer]]:
        while (frame := self.next_frame(now)) is not None:
            yield PORT, frame

    def next_frame(self, now: int) -> bytes | None:
        """The next of `frames_to_send`, which has then left; None: there is none."""
        answering = self._attention.answering
        if answering:
            return self._order[next(members(answering))].next_answer()
        sender = self._sender(now)
        if sender is None:
            return None
        self._turn_packets += 1
        return sender.next_request(now)

    def _sender(self, now: int) -> QueuePair | None:
        """The queue pair that sends the next request. The turn moves on when it is used up, or left with nothing to
        send."""
        order, turn = self._order, self._turn
        if order and self._turn_packets < _TURN_PACKETS and order[turn].can_send(now):
            return order[turn]
        for index in self._attention.requesting_from(turn + 1):
            if order[index].can_send(now):
                self._turn, self._turn_packets = index, 0
                return order[index]
        return None

    def get_timer(self) -> int | None:
        return self._attention.first_deadline

    def handle_timer(self, now: int) -> None:
        for index in self._attention.due(now):
            self._order[index].on_timer(now)

    def next_event(self) -> Event | None:
        events = self._outbox.events
        return events.popleft() if events else None

    def receive_batch(self, batch: FrameBatch, now: int) -> None:
        """As `receive_frame` for each row."""
        row, fast = 0, self._fast
        alone = skip = 0
        while row < batch.count:
            if fast is not None and skip == 0:
                after = fast.accept(batch, row, now)
                # Rows that are not for it come in runs (duplicates after a go-back, say): ask less and less often.
                alone = 0 if after > row else min(2 * alone + 1, _MOST_SKIPPED)
                row, skip = after, alone
                if row == batch.count:
                    return
            self.receive_frame(PORT, batch.row(row), now)
            row, skip = row + 1, max(0, skip - 1)

    def fill_batch(self, batch: FrameBatch, now: int) -> None:
        """As `frames_to_send`, into the free rows."""
        fast, capacity = self._fast, batch.capacity
        if fast is None:
            while batch.count < capacity and (frame := self.next_frame(now)) is not None:
                batch.append(PORT, frame)
            return
        for index in members(self._attention.answering):
            fast.answer(batch, self._order[index])
        while batch.count < capacity and (sender := self._sender(now)) is not None:
            self._turn_packets += fast.emit(batch, sender, _TURN_PACKETS - self._turn_packets, now)
