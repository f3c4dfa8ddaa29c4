"""Any operation over connections between every two ranks: `moves.py` says what goes where, `messages.py` what waits.

Rules of this file
- Each connection carries messages in one order, whatever the operations are, and numbers them on across operations.
- At most W messages of a rank are unacknowledged, and one of each connection in addition: where many share a link, no
  timer expires because of the others. W receives of a connection are posted, each again when its message was taken
  in. There are 2W slots: RC starts no message before the previous one found a receive, so an RDMA WRITE cannot reach a
  slot in use.
- Messages of an operation that this rank has not begun wait in their slots.
- A rank that is not in the group of an operation has completed it at once.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

import numpy as np

from workloads.collectives.arithmetic import fold
from workloads.collectives.base import Teller, segment
from workloads.collectives.messages import LONGEST_PACKETS, OwnMessage, TakenMessage, longest_message, messages_of
from workloads.collectives.moves import held_of_task, own_block
from workloads.collectives.slots import ReceiveSlots
from workloads.config import MeshTask, PhaseConfig, WorkerConfig
from workloads.errors import ScenarioError
from workloads.events import CollectiveStarted, MessageAcked, MessagePosted, MessageReceived
from workloads.gradients import Vector
from workloads.native.checksum import crc32
from workloads.rc import ReceiveCompleted, SendCompleted, SendRequest
from workloads.transports.endpoint import Verbs

__all__ = ["MeshCollective"]

_WINDOW_PACKETS = 512
"""packets in flight of one rank: more than rate x round trip of the links that we emulate, less than their
queues"""


class _Channel:
    """The connections to and from one other rank."""

    def __init__(self, phase: PhaseConfig, endpoint: Verbs) -> None:
        config, self._endpoint = phase.collective, endpoint
        self.config, self.qpn = config, phase.to_successor.qpn
        longest = min(config.message_packets, LONGEST_PACKETS)
        self.window = max(2, _WINDOW_PACKETS // longest)
        self.slot_bytes = longest * phase.to_successor.path_mtu
        self.slots = ReceiveSlots(
            endpoint, phase.from_predecessor.qpn, config, count=2 * self.window, slot_bytes=self.slot_bytes
        )
        self.arrivals: deque[ReceiveCompleted] = deque()
        self.send_base = self.take_base = 0
        """number of the first message of this operation"""
        self.begin((), ())

    def begin(self, sends: Sequence[OwnMessage], takes: Sequence[TakenMessage]) -> None:
        self.sends, self.takes = sends, takes
        self.posted = self.acked = self.taken = 0

    def end(self) -> None:
        """The operation is over: the next one counts on."""
        self.send_base += len(self.sends)
        self.take_base += len(self.takes)
        self.begin((), ())

    @property
    def is_whole(self) -> bool:
        return self.taken == len(self.takes)

    @property
    def is_over(self) -> bool:
        return self.taken == len(self.takes) and self.acked == len(self.sends)

    def post(self, source: memoryview, now: int) -> MessagePosted:
        config, item, message = self.config, self.sends[self.posted], self.send_base + self.posted
        place = message % (2 * self.window)
        remote = config.peer_base_va + place * self.slot_bytes if config.verb == "write" else None
        request = SendRequest(
            message, segment(source, item.start, item.stop), message & 0xFFFF_FFFF, remote, config.peer_rkey
        )
        self._endpoint.post_send(self.qpn, request, now)
        self.posted += 1
        return MessagePosted(message, self.take_base + self.taken, self.send_base + self.acked, config.phase)


class MeshCollective(Teller):
    """A Collective. `channels`: one for each other rank of the job, in rank order. Each iteration runs the task of its
    configuration, or the one that the caller sets before it. Raises ScenarioError for an arithmetic whose partial
    results lose what the sum needs."""

    def __init__(self, worker: WorkerConfig, endpoint: Verbs, channels: Sequence[PhaseConfig], iterations: int) -> None:
        super().__init__(worker, iterations)
        config = worker.collective
        if (config.arithmetic.op, config.arithmetic.dtype) == ("sum", "int32sat"):
            raise ScenarioError(
                "a mesh adds step by step and would saturate early", key="job.dtype", found="int32sat",
                allowed="float32, int32",
            )  # fmt: skip
        self._rank, self._arithmetic = config.rank, config.arithmetic
        self._message_packets, self._mtu = config.message_packets, channels[0].to_successor.path_mtu
        peers = [rank for rank in range(len(channels) + 1) if rank != self._rank]
        self._channels = {peer: _Channel(phase, endpoint) for peer, phase in zip(peers, channels, strict=True)}
        self._by_qpn = {
            qp.qpn: self._channels[peer]
            for peer, phase in zip(peers, channels, strict=True)
            for qp in (phase.to_successor, phase.from_predecessor)
        }
        self._late = [channel for channel in self._channels.values() if channel.config.receive_late_ns]
        """those that have timers"""
        self.task = config.task or MeshTask("barrier", ())
        self._is_sole = config.task is not None
        """whether the job does nothing else"""
        self._busy: dict[int, _Channel] = {}
        """by place in the group: connections that have something to do in this operation"""
        self._over = True

    @property
    def idle(self) -> bool:
        return self._over and self._digest_at is None and all(channel.is_over for channel in self._busy.values())

    def carries(self, qpn: int) -> bool:
        """Whether that queue pair is one of the mesh."""
        return qpn in self._by_qpn

    def open(self, now: int) -> None:
        for channel in self._channels.values():
            channel.slots.post(channel.window, now)

    def start(self, iteration: int, gradient: Vector, result: Vector, now: int) -> None:
        task, elements = self.task, len(gradient)
        place = task.ranks.index(self._rank) if self._rank in task.ranks else None
        self._kept = held_of_task(task, place, elements)
        for channel in self._busy.values():
            channel.end()
        self._busy = {}
        if place is not None:
            length = longest_message(self._message_packets, self._mtu, elements, len(task.ranks))
            found = messages_of(task, place, elements, length)
            for peer in sorted(found.sends.keys() | found.takes.keys()):
                self._busy[peer] = channel = self._channels[task.ranks[peer]]
                channel.begin(found.sends.get(peer, ()), found.takes.get(peer, ()))
        self._begin(iteration, gradient, result, sum(len(channel.sends) for channel in self._busy.values()))
        if not self._is_sole:
            started = CollectiveStarted(iteration, len(self._gradient), self._messages, task.operation)
            self._events[-1] = started
        own = None if place is None else own_block(task, place, elements)
        if own is not None:
            first, number, into = own
            result[into : into + number] = gradient[first : first + number]
        self._over = False
        self._advance(now)

    def on_sent(self, completion: SendCompleted, now: int) -> None:
        channel = self._by_qpn[completion.qpn]
        channel.acked = completion.wr_id + 1 - channel.send_base
        self._events.append(MessageAcked(completion.wr_id, channel.config.phase))
        self._advance(now)

    def on_received(self, completion: ReceiveCompleted, now: int) -> None:
        self._by_qpn[completion.qpn].arrivals.append(completion)
        self._advance(now)

    def get_timer(self) -> int | None:
        if not self._late:
            return super().get_timer()
        timers = [channel.slots.get_timer() for channel in self._late]
        return min((timer for timer in (*timers, super().get_timer()) if timer is not None), default=None)

    def handle_timer(self, now: int) -> None:
        for channel in self._late:
            channel.slots.handle_timer(now)
        super().handle_timer(now)

    @property
    def _messages(self) -> int:
        return sum(len(channel.sends) for channel in self._busy.values())

    def _advance(self, now: int) -> None:
        """Take in and send whatever does not have to wait. A rank whose result is whole may still have to send."""
        moved = True
        while moved and self.problem is None:
            moved = False
            for channel in self._busy.values():
                while self.problem is None and self._may_take(channel):
                    self._take(channel, now)
                    moved = True
                while self._may_send(channel):
                    item = channel.sends[channel.posted]
                    source = self._result if item.from_result else self._gradient
                    self._events.append(channel.post(source, now))
                    moved = True
        if not self._over and self.problem is None and all(channel.is_whole for channel in self._busy.values()):
            self._over = True
            self._complete(now)

    def _may_take(self, channel: _Channel) -> bool:
        if not channel.arrivals or channel.is_whole:
            return False
        item = channel.takes[channel.taken]
        return all(self._busy[peer].taken >= number for peer, number in item.after) and all(
            self._busy[peer].acked >= number for peer, number in item.acked
        )

    def _may_send(self, channel: _Channel) -> bool:
        under_way = channel.posted - channel.acked
        if channel.posted == len(channel.sends) or under_way >= channel.window:
            return False
        if under_way and sum(each.posted - each.acked for each in self._busy.values()) >= channel.window:
            return False
        item = channel.sends[channel.posted]
        return all(self._busy[peer].taken >= number for peer, number in item.after) and all(
            self._busy[peer].acked >= number for peer, number in item.acked
        )

    def _take(self, channel: _Channel, now: int) -> None:
        """The oldest arrival of a connection, into its place."""
        item, message = channel.takes[channel.taken], channel.take_base + channel.taken
        arrival = channel.arrivals.popleft()
        if (arrival.imm, arrival.length) != (message & 0xFFFF_FFFF, item.stop - item.start):
            self.problem = (
                "bad_result",
                (
                    f"message {message} of {channel.config.phase} came with immediate data {arrival.imm} and "
                    f"{arrival.length} bytes, expected {item.stop - item.start}"
                ),
            )
            return
        received = channel.slots.view(message)[: arrival.length]
        target = self._result[item.start : item.stop]
        if item.adds:
            held = self._gradient[item.start : item.stop] if item.to_own else target
            both = np.stack([np.frombuffer(held, np.uint8), np.frombuffer(received, np.uint8)])
            target[:] = fold(both, self._arithmetic).data
        else:
            target[:] = received
        channel.taken += 1
        self._events.append(MessageReceived(message, crc32(target), channel.config.phase))
        channel.slots.post(1, now)
