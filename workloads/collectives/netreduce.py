"""The worker side of NetReduce, and the ring shift: the same worker through a plain switch.

Sourced from the paper (NetReduce, ASPLOS'23): messages of L packets sent to the ring successor over RC. Only the first
packet has a header. A sliding window covers N messages. Header layout, credit terms, hello and the rules on posting are
reconstructed; `docs/workloads.md` explains which and why.

Rules of this file
- Message 0 is the hello: one packet, header only. Nothing else is posted until its result is back (rule D).
- Message m may be posted if m < N + credit and the send queue has room: fewer than 2N unacknowledged (rule G). Credit
  is the number of results received, of own messages acknowledged, or the smaller of both.
- The worker copies result m out of its slot and posts the receive for m + slots before it sends anything else. So the
  receive of every message that can come is posted (rule H). With the switch of a job 2N slots do: no result overtakes
  our own contribution. Through a plain switch the predecessor may run ahead, even by iterations, up to the length of
  the ring. So the shift has a slot for every message of as many iterations.
- All messages but the hello and the last of an iteration have L packets; nothing else is sent on the connection (rule
  I).
- Message numbers go on across iterations.
- In place, a result waits in its slot until our own message is acknowledged, because a retransmission may need it.
- Under IRN message m has addresses of its own in the successor's memory. They begin m times L packets behind its start.
  So the
  switch reads message and place out of every packet. The memory still has 2N slots (`ReceiveSlots`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from workloads.collectives.base import RankOfRing, segment
from workloads.collectives.ina_header import DTYPE_CODES, INA_HEADER_BYTES, OP_CODES, InaHeader, InaHeaders
from workloads.collectives.lengths import Piece, cut_gradient
from workloads.collectives.slots import ReceiveSlots
from workloads.config import WorkerConfig
from workloads.events import MessageAcked, MessagePosted, MessageReceived
from workloads.gradients import Vector
from workloads.native.checksum import crc32
from workloads.rc import ReceiveCompleted, SendCompleted, SendRequest
from workloads.transports.endpoint import Verbs
from workloads.wire import WireError

__all__ = ["NetReduceCollective"]

_CREDIT: dict[str, Callable[[int, int], int]] = {
    "both": min,
    "received": lambda received, acked: received,
    "acked": lambda received, acked: acked,
}


class NetReduceCollective(RankOfRing):
    """One rank of a ring; results arrive on the connection from the predecessor."""

    def __init__(self, worker: WorkerConfig, endpoint: Verbs, elements: int, iterations: int) -> None:
        config = worker.collective
        self._config, self._endpoint, self._in_place = config, endpoint, worker.workload.in_place
        self._send_qpn = worker.to_successor.qpn
        self._elements, self._path_mtu = elements, worker.to_successor.path_mtu
        self._pieces = cut_gradient(elements, config.message_packets, self._path_mtu)
        self._hellos = 1 if config.hello else 0
        self._credit = _CREDIT[config.credit]
        op, dtype = OP_CODES[config.arithmetic.op], DTYPE_CODES[config.arithmetic.dtype]
        self._headers = InaHeaders(InaHeader(config.ring_id, config.rank, config.size, 0, 0, op, dtype))
        self._slot_bytes = config.message_packets * worker.to_successor.path_mtu
        self._slot_count = 2 * config.window_messages
        if config.kind == "shift":
            self._slot_count = self._hellos + len(self._pieces) * min(iterations, config.size)
        self._places = self._slot_count
        """distinct places in the successor's memory, by message; 0: each message has one of its own"""
        if config.kind == "netreduce" and worker.to_successor.speaks_irn:
            self._places = 0
        super().__init__(
            worker,
            ReceiveSlots(
                endpoint, worker.from_predecessor.qpn, config, count=self._slot_count, slot_bytes=self._slot_bytes,
                endless=not self._places,
            ),
            iterations,
        )  # fmt: skip
        self._posted = self._received = self._acked = 0
        self._last = self._hellos  # first message number behind those of the iterations started so far
        self._base = self._hellos  # number of the current iteration's first message
        self._arrivals: deque[ReceiveCompleted] = deque()

    @property
    def idle(self) -> bool:
        if self._iteration < 0:
            return True
        return self._received == self._last == self._acked and self._digest_at is None

    @property
    def whole(self) -> bool:
        return self._received == self._last

    @property
    def messages(self) -> int:
        return len(self._pieces)

    def open(self, now: int) -> None:
        self._slots.post(self._slot_count, now)

    def start(self, iteration: int, gradient: Vector, result: Vector, now: int) -> None:
        if len(gradient) != self._elements:
            self._elements = len(gradient)
            self._pieces = cut_gradient(self._elements, self._config.message_packets, self._path_mtu)
        self._begin(iteration, gradient, result, len(self._pieces))
        self._base, self._last = self._last, self._last + len(self._pieces)
        self._consume(now)
        self._pump(now)

    def on_sent(self, completion: SendCompleted, now: int) -> None:
        self._acked = completion.wr_id + 1
        self._events.append(MessageAcked(completion.wr_id, self._phase))
        if self._in_place:
            self._consume(now)
        self._pump(now)

    def on_received(self, completion: ReceiveCompleted, now: int) -> None:
        self._arrivals.append(completion)
        self._consume(now)
        self._pump(now)

    def _pump(self, now: int) -> None:
        """Post what hello, credit and send queue allow."""
        config = self._config
        while self.problem is None and self._iteration >= 0 and self._posted < self._last:
            message = self._posted
            if message >= self._hellos > self._received:
                return
            if message >= config.window_messages + self._credit(self._received, self._acked):
                return
            if message - self._acked >= 2 * config.window_messages:
                return
            self._post(message, now)

    def _post(self, message: int, now: int) -> None:
        config = self._config
        piece = self._piece(message)
        header = self._headers.encode(message, piece.packets, message + 1 == self._last)
        place = message % self._places if self._places else message
        remote = config.peer_base_va + place * self._slot_bytes if config.verb == "write" else None
        segments = (header, *segment(self._gradient, piece.start, piece.stop))
        self._endpoint.post_send(
            self._send_qpn, SendRequest(message, segments, message & 0xFFFF_FFFF, remote, config.peer_rkey), now
        )
        self._posted += 1
        self._events.append(MessagePosted(message, self._received, self._acked, self._phase))

    def _piece(self, message: int) -> Piece:
        """The piece of the hello or of the current iteration."""
        return self._pieces[message - self._base] if message >= self._hellos else Piece(0, 0, 1)

    def _consume(self, now: int) -> None:
        """Take results out of their slots, in order, as far as the current iteration reaches."""
        while self.problem is None and self._arrivals and self._received < self._last:
            message = self._received
            if message >= self._hellos and self._iteration < 0:
                return
            if self._in_place and message >= self._acked:
                return
            arrival, piece = self._arrivals.popleft(), self._piece(message)
            slot = self._slots.view(message)
            wrong = self._judge(message, piece, arrival, slot)
            if wrong:
                self._fail(f"message {message} {wrong}")
                return
            elements = slot[INA_HEADER_BYTES : INA_HEADER_BYTES + piece.stop - piece.start]
            self._result[piece.start : piece.stop] = elements
            self._received += 1
            self._events.append(MessageReceived(message, crc32(elements), self._phase))
            self._slots.post(1, now)
            if message < self._hellos:
                continue
            if self._received == self._last:
                self._complete(now)
            else:
                self._is_final(piece.stop, now)

    def _judge(self, message: int, piece: Piece, arrival: ReceiveCompleted, slot: memoryview) -> str:
        """What is wrong with a result, if anything: immediate data, length, or the header that its predecessor
        wrote."""
        config = self._config
        size = INA_HEADER_BYTES + piece.stop - piece.start
        if arrival.imm != message & 0xFFFF_FFFF:
            return f"came with immediate data {arrival.imm}"
        if arrival.length != size:
            return f"has {arrival.length} bytes, expected {size}"
        try:
            header = InaHeader.decode(slot[:INA_HEADER_BYTES])
        except WireError as error:
            return f"has {error}"
        found = (header.ring_id, header.msg_id, header.rank)
        expected = (config.ring_id, message, (config.rank - 1) % config.size)
        return "" if found == expected else f"has (ring_id, msg_id, rank) {found}, expected {expected}"
