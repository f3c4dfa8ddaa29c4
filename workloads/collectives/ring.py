"""Ring all-reduce (reduce-scatter, then all-gather): the baseline of NetReduce, on the same endpoints and links.

The gradient is cut into P chunks. Chunk c starts at rank c and is passed c -> c+1 -> ..., every rank adding its own part
to what it received, until rank c-1 holds the sum, folded from the left in the order c, c+1, ..., c-1; then the sums go
round once more. Rank r sends chunk (r - s) mod P in step s = 0 .. 2P-3, and each host sends 2(P-1)/P of a gradient.

Rules of this file
- A chunk travels in several messages, and each is passed on as soon as it is there, so that a link is busy while the rest
  of the chunk still comes in (pipelining).
- A message of step s+1 carries the same elements as the message of step s that it waits for.
- At most W messages are unacknowledged. W receives are posted, each again when its message was consumed, and there are
  2W slots: RC starts no message before the one in front of it found a receive, so that an RDMA WRITE cannot reach a slot
  in use. A slow host lets receives run out, and RNR NAKs hold its predecessor.
- A final sum replaces the partial one in the result only when the message that carried the partial one is acknowledged:
  until then a retransmission may need it.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from workloads.collectives.arithmetic import ELEMENT_BYTES, fold
from workloads.collectives.base import RankOfRing, segment
from workloads.collectives.slots import ReceiveSlots, Verbs
from workloads.config import CollectiveConfig, WorkerConfig
from workloads.errors import ScenarioError
from workloads.events import MessageAcked, MessagePosted, MessageReceived
from workloads.gradients import Vector
from workloads.native.checksum import crc32
from workloads.rc import ReceiveCompleted, SendCompleted, SendRequest

__all__ = ["RingCollective", "Transfer", "ring_packets", "ring_schedule"]

_WINDOW_PACKETS = 512
"""in flight on one connection: more than rate x round trip of the links that we emulate, less than their queues"""
_PIECES_PER_CHUNK = 8
_LEAST_PACKETS = 16
"""a message is not cut shorter for pipelining: its headers and its ACK would cost more"""


@dataclass(frozen=True, slots=True)
class Transfer:
    """One message of the schedule."""

    step: int
    chunk: int
    start: int
    """bytes of the gradient"""
    stop: int
    packets: int


def _chunk_bounds(elements: int, size: int) -> list[tuple[int, int]]:
    """Byte ranges of the P chunks: the first `elements % P` hold one element more."""
    least, more = divmod(elements, size)
    starts = [(least * chunk + min(chunk, more)) * ELEMENT_BYTES for chunk in range(size + 1)]
    return list(pairwise(starts))


def ring_schedule(config: CollectiveConfig, rank: int, elements: int, path_mtu: int) -> tuple[Transfer, ...]:
    """What `rank` sends in one iteration, in order; empty chunks need no message."""
    bounds = _chunk_bounds(elements, config.size)
    transfers = []
    for step in range(2 * config.size - 2):
        chunk = (rank - step) % config.size
        first, last = bounds[chunk]
        packets = -(-(last - first) // path_mtu)
        length = min(config.message_packets, max(_LEAST_PACKETS, -(-packets // _PIECES_PER_CHUNK))) * path_mtu
        for start in range(first, last, length):
            stop = min(start + length, last)
            transfers.append(Transfer(step, chunk, start, stop, -(-(stop - start) // path_mtu)))
    return tuple(transfers)


def ring_packets(config: CollectiveConfig, elements: int, iterations: int, path_mtu: int) -> tuple[int, ...]:
    """Packets of each message of the connection from rank `config.rank`."""
    return tuple(item.packets for item in ring_schedule(config, config.rank, elements, path_mtu)) * iterations


class RingCollective(RankOfRing):
    """One rank of the ring. Raises ScenarioError for an arithmetic whose partial results lose what the sum needs."""

    def __init__(self, worker: WorkerConfig, endpoint: Verbs, elements: int, iterations: int) -> None:
        config, path_mtu = worker.collective, worker.to_successor.path_mtu
        if (config.arithmetic.op, config.arithmetic.dtype) == ("sum", "int32sat"):
            raise ScenarioError(
                "a ring adds step by step and would saturate early", key="job.dtype", found="int32sat",
                allowed="float32, int32",
            )  # fmt: skip
        self._config, self._endpoint, self._send_qpn = config, endpoint, worker.to_successor.qpn
        self._sends = ring_schedule(config, config.rank, elements, path_mtu)
        self._receives = ring_schedule(config, (config.rank - 1) % config.size, elements, path_mtu)
        self._own_steps = [sum(item.step < step for item in self._sends) for step in range(2 * config.size - 1)]
        self._peer_steps = [sum(item.step < step for item in self._receives) for step in range(2 * config.size - 1)]
        longest = max((item.packets for item in self._sends), default=1)
        self._window = max(2, config.window_messages, _WINDOW_PACKETS // longest)
        self._slot_bytes = longest * path_mtu
        super().__init__(
            ReceiveSlots(
                endpoint, worker.from_predecessor.qpn, count=2 * self._window, slot_bytes=self._slot_bytes,
                verb=config.verb, late_ns=config.receive_late_ns, rkey=config.rkey, base_va=config.base_va,
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
        whole = self._consumed == len(self._receives) and self._acked == len(self._sends)
        return whole and self._digest_at is None

    def open(self, now: int) -> None:
        self._slots.post(self._window, now)

    def start(self, iteration: int, gradient: Vector, result: Vector, now: int) -> None:
        if self._iteration >= 0:
            self._send_base += len(self._sends)
            self._receive_base += len(self._receives)
        self._begin(iteration, gradient, result, len(self._sends))
        self._posted = self._acked = self._consumed = 0
        self._advance(now)

    def on_sent(self, completion: SendCompleted, now: int) -> None:
        self._acked = completion.wr_id + 1 - self._send_base
        self._events.append(MessageAcked(completion.wr_id))
        self._advance(now)

    def on_received(self, completion: ReceiveCompleted, now: int) -> None:
        self._arrivals.append(completion)
        self._advance(now)

    def _advance(self, now: int) -> None:
        while self.problem is None and self._arrivals and self._consumed < len(self._receives):
            if self._iteration < 0 or not self._consume(now):
                break
        while self.problem is None and self._may_send():
            self._post(now)

    def _consume(self, now: int) -> bool:
        """Take the oldest arrival into the result; False when it must wait for an acknowledgement."""
        config, item = self._config, self._receives[self._consumed]
        gathers = item.step >= config.size - 1
        if gathers:
            # This rank sent its partial sum of the same elements in step s+1-P, in the same place of that step.
            place = self._consumed - self._peer_steps[item.step]
            if self._acked <= self._own_steps[item.step + 1 - config.size] + place:
                return False
        arrival, message = self._arrivals.popleft(), self._receive_base + self._consumed
        if (arrival.imm, arrival.length) != (message & 0xFFFF_FFFF, item.stop - item.start):
            self._fail(
                f"message {message} came with immediate data {arrival.imm} and {arrival.length} bytes, "
                f"expected {item.stop - item.start}"
            )
            return False
        received = self._slots.view(message)[: arrival.length]
        target = self._result[item.start : item.stop]
        if gathers:
            target[:] = received
        else:
            own = self._gradient[item.start : item.stop]
            both = np.stack([np.frombuffer(own, np.uint8), np.frombuffer(received, np.uint8)])
            target[:] = fold(both, config.arithmetic).data
        self._consumed += 1
        self._events.append(MessageReceived(message, crc32(target)))
        self._slots.post(1, now)
        if self._consumed == len(self._receives):
            self._complete(now)
        return True

    def _may_send(self) -> bool:
        if self._iteration < 0 or self._posted == len(self._sends) or self._posted - self._acked >= self._window:
            return False
        step = self._sends[self._posted].step
        if step == 0:
            return True
        place = self._posted - self._own_steps[step]
        return self._consumed > self._peer_steps[step - 1] + place

    def _post(self, now: int) -> None:
        config, item, message = self._config, self._sends[self._posted], self._send_base + self._posted
        source = self._gradient if item.step == 0 else self._result
        remote = (
            config.peer_base_va + message % (2 * self._window) * self._slot_bytes if config.verb == "write" else None
        )
        self._endpoint.post_send(
            self._send_qpn,
            SendRequest(
                message, segment(source, item.start, item.stop), message & 0xFFFF_FFFF, remote, config.peer_rkey
            ),
            now,
        )
        self._posted += 1
        self._events.append(MessagePosted(message, self._receive_base + self._consumed, self._send_base + self._acked))
