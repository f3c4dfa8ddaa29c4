"""Ring all-reduce (reduce-scatter, then all-gather): the baseline of NetReduce, on the same endpoints and links. Also
the other collectives by the schedules of `schedules.py`: each half alone, and chains.

The gradient is cut into P chunks. Chunk c starts at rank c and is passed c -> c+1 -> .... Every rank adds its own part
to what it received. In the end rank c-1 holds the sum, folded from the left in the order c, c+1, ..., c-1. Then the
sums go round the ring a second time. Rank r sends chunk (r - s) mod P in step s = 0 .. 2P-3, and each host sends
2(P-1)/P of a gradient.

Rules of this file
- A chunk travels in several messages. A rank passes each on as soon as it is there, so a link is busy while the rest of
  the chunk still comes in (pipelining).
- A message of step s+1 carries the same elements as the message of step s that it waits for.
- At most W messages are unacknowledged. W receives are posted, each again when its message was consumed. There are 2W
  slots: RC starts no message before the previous one found a receive, so an RDMA WRITE cannot reach a slot in use. A
  slow host runs out of receives, and RNR NAKs hold its predecessor.
- Without pipelining (`pipelined: false`) a step begins when the one before is over: its messages came, ours are
  acknowledged. Closed forms of a ring count this. Chains are always pipelined, as in their closed forms.
- A partial sum stays in the result until its message is acknowledged, because a retransmission may need it. Then the
  final sum replaces it.
"""

from __future__ import annotations

from collections import deque

import numpy as np

from workloads.collectives.arithmetic import fold
from workloads.collectives.base import RankOfRing, segment
from workloads.collectives.plain_ring import RingPlace
from workloads.collectives.schedules import (
    CHAINS,
    chunk_bounds,
    gathers,
    longest_packets,
    most_messages,
    ring_schedule,
)
from workloads.collectives.slots import ReceiveSlots
from workloads.config import WorkerConfig
from workloads.errors import ScenarioError
from workloads.events import MessageAcked, MessagePosted, MessageReceived
from workloads.gradients import Vector
from workloads.native.checksum import crc32
from workloads.rc import ReceiveCompleted, SendCompleted, SendRequest
from workloads.transports.endpoint import Verbs

__all__ = ["RingCollective"]

_WINDOW_PACKETS = 512
"""packets in flight on one connection: more than rate x round trip of the links that we emulate, less than their
queues"""


class RingCollective(RankOfRing):
    """One rank, a `PlainRing`. Raises ScenarioError for an arithmetic whose partial results lose what the sum
    needs."""

    def __init__(self, worker: WorkerConfig, endpoint: Verbs, elements: int, iterations: int) -> None:
        config, path_mtu = worker.collective, worker.to_successor.path_mtu
        if (config.arithmetic.op, config.arithmetic.dtype) == ("sum", "int32sat"):
            raise ScenarioError(
                "a ring adds step by step and would saturate early", key="job.dtype", found="int32sat",
                allowed="float32, int32",
            )  # fmt: skip
        self.config = config
        self._endpoint, self._send_qpn = endpoint, worker.to_successor.qpn
        self._path_mtu = path_mtu
        self._schedule(elements)
        self._stepwise = not config.pipelined and config.kind not in CHAINS
        most = max(elements, config.takes_in or 0)
        longest = longest_packets(config, most, path_mtu)
        enough = 2 * most_messages(config, most, path_mtu)  # an iteration ahead
        self.window = max(2, config.window_messages, min(enough, _WINDOW_PACKETS // longest))
        self.slot_bytes = longest * path_mtu
        super().__init__(
            worker,
            ReceiveSlots(
                endpoint, worker.from_predecessor.qpn, config, count=2 * self.window, slot_bytes=self.slot_bytes,
            ),
            iterations,
        )  # fmt: skip
        self._posted = self._acked = self._consumed = 0  # messages since the start of the iteration
        self._send_base = self._receive_base = 0  # numbers of the iteration's first messages on either connection
        self._arrivals: deque[ReceiveCompleted] = deque()

    @property
    def idle(self) -> bool:
        if self._iteration < 0:
            return True
        return self.whole and self._acked == self._to_send and self._digest_at is None

    @property
    def whole(self) -> bool:
        return self._consumed == self._to_receive

    @property
    def messages(self) -> int:
        return self._to_send

    @property
    def reads_once(self) -> bool:
        return self.config.kind == "ring"

    @property
    def hears_acks_late(self) -> bool:
        posted = self._posted
        waits = self._stepwise or bool(self._arrivals) or posted - self._acked >= self.window
        return posted < self._to_send and not waits and not self._phase

    @property
    def is_plain(self) -> bool:
        config = self.config
        return (
            (config.kind, config.verb, config.arithmetic.op) == ("ring", "write", "sum")
            and not (self._stepwise or self._phase or self._arrivals or self._slots.posts_late or self.problem)
            and self._iteration >= 0 and self._consumed < self._to_receive
        )  # fmt: skip

    @property
    def queue_pairs(self) -> tuple[int, int]:
        return self._send_qpn, self._slots.qpn

    @property
    def place(self) -> RingPlace:
        return RingPlace(self._send_base, self._receive_base, self._posted, self._acked, self._consumed)

    @property
    def memory(self) -> tuple[memoryview, memoryview, memoryview]:
        return self._gradient, self._result, self._slots.memory

    def come_to(self, posted: int, acked: int, consumed: int, taken: int, now: int) -> None:
        self._slots.arrived(consumed - self._consumed, taken, now)
        self._posted, self._acked, self._consumed = posted, acked, consumed

    def open(self, now: int) -> None:
        self._slots.post(self.window, now)

    def start(self, iteration: int, gradient: Vector, result: Vector, now: int) -> None:
        if self._iteration >= 0:
            self._send_base += self._to_send
            self._receive_base += self._to_receive
        if len(gradient) != self._elements:
            self._schedule(len(gradient))
        self._begin(iteration, gradient, result, self._to_send)
        if self.config.kind == "ring_all_gather":
            self._keep_own()
        self._posted = self._acked = self._consumed = 0
        if not self._to_receive:  # the head of a chain
            self._complete(now)
        self._advance(now)

    def on_sent(self, completion: SendCompleted, now: int) -> None:
        self._acked = completion.wr_id + 1 - self._send_base
        self._events.append(MessageAcked(completion.wr_id, self._phase))
        self._advance(now)

    def on_received(self, completion: ReceiveCompleted, now: int) -> None:
        self._arrivals.append(completion)
        self._advance(now)

    def _schedule(self, elements: int) -> None:
        """Make the schedules for sending and receiving `elements` elements in an iteration."""
        config, self._elements = self.config, elements
        self.sends = ring_schedule(config, config.rank, elements, self._path_mtu)
        coming = elements if config.takes_in is None else config.takes_in
        self.receives = ring_schedule(config, (config.rank - 1) % config.size, coming, self._path_mtu)
        self._to_send, self._to_receive = len(self.sends), len(self.receives)

    def _keep_own(self) -> None:
        """The chunk of this rank is the first that it sends, from the result."""
        start, stop = chunk_bounds(self._elements, self.config.size)[self.config.rank]
        self._result[start:stop] = self._gradient[start:stop]

    def _advance(self, now: int) -> None:
        while self.problem is None and self._arrivals and self._consumed < self._to_receive:
            if self._iteration < 0 or not self._consume(now):
                break
        while self.problem is None and self._may_send():
            self._post(now)

    def _consume(self, now: int) -> bool:
        """Take the oldest arrival into the result; False when it must wait for an acknowledgement."""
        config, step = self.config, self.receives.steps[self._consumed]
        is_final = gathers(config, step)
        if is_final and self._waits_for_ack(step):
            return False
        start, stop = self.receives.span(self._consumed)
        arrival, message = self._arrivals.popleft(), self._receive_base + self._consumed
        if (arrival.imm, arrival.length) != (message & 0xFFFF_FFFF, stop - start):
            self._fail(
                f"message {message} came with immediate data {arrival.imm} and {arrival.length} bytes, "
                f"expected {stop - start}"
            )
            return False
        received = self._slots.view(message)[: arrival.length]
        target = self._result[start:stop]
        if is_final:
            target[:] = received
        else:
            own = self._gradient[start:stop]
            both = np.empty((2, len(own)), np.uint8)
            both[0], both[1] = own, received
            target[:] = fold(both, config.arithmetic).data
        self._consumed += 1
        self._events.append(MessageReceived(message, crc32(target), self._phase))
        self._slots.post(1, now)
        if self._consumed == self._to_receive:
            self._complete(now)
        return True

    def _waits_for_ack(self, step: int) -> bool:
        """This rank sent its partial sum of the elements that came in `step` in step s+1-P, in the same place of that
        step, if at all."""
        firsts, sent_in = self.sends.firsts, step + 1 - self.config.size
        if sent_in < 0 or firsts[sent_in] == firsts[sent_in + 1]:
            return False
        place = self._consumed - self.receives.firsts[step]
        return self._acked <= firsts[sent_in] + place

    def _may_send(self) -> bool:
        if self._iteration < 0 or self._posted == self._to_send or self._posted - self._acked >= self.window:
            return False
        step = self.sends.steps[self._posted]
        if step == 0:
            return True
        first, behind = self.receives.firsts[step - 1], self.receives.firsts[step]
        if self._stepwise:
            return self._consumed >= behind and self._acked >= self.sends.firsts[step]
        place = self._posted - self.sends.firsts[step]
        return first == behind or self._consumed > first + place

    def request(self, place: int) -> SendRequest:
        """Message `place` of the iteration."""
        source = self._gradient if self.sends.steps[place] == 0 else self._result
        config, message = self.config, self._send_base + place
        remote = config.peer_base_va + message % (2 * self.window) * self.slot_bytes if config.verb == "write" else None
        segments = segment(source, *self.sends.span(place))
        return SendRequest(message, segments, message & 0xFFFF_FFFF, remote, config.peer_rkey)

    def _post(self, now: int) -> None:
        message = self._send_base + self._posted
        self._endpoint.post_send(self._send_qpn, self.request(self._posted), now)
        self._posted += 1
        received, acked = self._receive_base + self._consumed, self._send_base + self._acked
        self._events.append(MessagePosted(message, received, acked, self._phase))
