"""How a collective is cut into messages and packets (protocol text sections 2 and 8), worked out from the plan alone.

With a hello, message 0 is one packet with the 16-byte INA header and no elements. Each iteration then takes
K = ceil(bytes / (L S - 16)) messages of L packets, the last of them shorter. Numbers are never reset.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

from testbed.checkers.context import CheckContext, is_training
from testbed.plan.rings import PlannedRing
from workloads.collectives.ina_header import INA_HEADER_BYTES
from workloads.config import WorkerConfig
from workloads.events import CollectiveStarted

__all__ = ["INA_HEADER_BYTES", "MessageLayout", "message_layout", "ring_layout"]


@dataclass(frozen=True)
class MessageLayout:
    gradient_bytes: int
    iterations: int
    message_packets: int
    """L"""
    path_mtu: int
    """S"""
    hello: bool

    @property
    def message_bytes(self) -> int:
        """Bytes of elements in a full message."""
        return self.message_packets * self.path_mtu - INA_HEADER_BYTES

    @property
    def per_iteration(self) -> int:
        """K"""
        return max(1, -(-self.gradient_bytes // self.message_bytes))

    @property
    def total(self) -> int:
        """Messages of the whole job on one connection, hello included."""
        return self.hello + self.iterations * self.per_iteration

    def place(self, message: int) -> tuple[int, int] | None:
        """(iteration, index in it); None for the hello."""
        if self.hello and message == 0:
            return None
        return divmod(message - self.hello, self.per_iteration)

    def span(self, index: int) -> tuple[int, int]:
        """First and last-plus-one byte of an iteration's gradient that its message `index` carries."""
        start = index * self.message_bytes
        return start, min(start + self.message_bytes, self.gradient_bytes)

    def packets(self, message: int) -> int:
        place = self.place(message)
        if place is None:
            return 1
        start, stop = self.span(place[1])
        return -(-(INA_HEADER_BYTES + stop - start) // self.path_mtu)

    @property
    def packets_per_iteration(self) -> int:
        last = self.hello + self.per_iteration - 1
        return (self.per_iteration - 1) * self.message_packets + self.packets(last)

    def message_at(self, offset: int) -> int:
        """Number of the message that holds the connection's packet `offset`, counted from 0."""
        if self.hello and offset == 0:
            return 0
        iteration, rest = divmod(offset - self.hello, self.packets_per_iteration)
        return self.hello + iteration * self.per_iteration + rest // self.message_packets

    def name(self, message: int) -> str:
        """For a person."""
        place = self.place(message)
        if place is None:
            return f"message {message} (the hello)"
        return f"message {message} (iteration {place[0]}, part {place[1] + 1} of {self.per_iteration})"


def message_layout(context: CheckContext) -> MessageLayout:
    """The layout of the job in `context`, whose workers form a ring. The gradient's size is what the workers reported,
    else what the scenario asks for."""
    worker = context.plan.ring_workers[0]
    if is_training(context) and not worker.phases:
        return _uneven_layout(context, worker)
    sizes = [record.event.bytes for record in context.events(CollectiveStarted)]
    workload, collective = worker.workload, worker.collective
    return MessageLayout(
        sizes[0] if sizes else workload.elements * 4,
        workload.iterations,
        collective.message_packets,
        worker.to_successor.path_mtu,
        collective.hello,
    )


@dataclass(frozen=True)
class UnevenLayout(MessageLayout):
    """Of a job whose gradients have different sizes, the longest of `gradient_bytes`."""

    sizes: tuple[int, ...] = ()
    """bytes of each iteration's gradient"""

    @cached_property
    def _first_messages(self) -> list[int]:
        """of each iteration, and the number behind the last"""
        return list(accumulate((self._messages(size) for size in self.sizes), initial=int(self.hello)))

    @cached_property
    def _first_packets(self) -> list[int]:
        room, mtu = self.message_bytes, self.path_mtu
        packets = (
            (self._messages(size) - 1) * self.message_packets
            + -(-(INA_HEADER_BYTES + size - (self._messages(size) - 1) * room) // mtu)
            for size in self.sizes
        )
        return list(accumulate(packets, initial=int(self.hello)))

    def _messages(self, size: int) -> int:
        return max(1, -(-size // self.message_bytes))

    @property
    def total(self) -> int:
        return self._first_messages[-1]

    def place(self, message: int) -> tuple[int, int] | None:
        if self.hello and message == 0:
            return None
        iteration = max(0, bisect_right(self._first_messages, message) - 1)
        return iteration, message - self._first_messages[iteration]

    def packets(self, message: int) -> int:
        place = self.place(message)
        if place is None:
            return 1
        iteration, index = place
        size = self.sizes[iteration] if iteration < len(self.sizes) else self.gradient_bytes
        start = index * self.message_bytes
        return -(-(INA_HEADER_BYTES + min(self.message_bytes, size - start)) // self.path_mtu)

    def message_at(self, offset: int) -> int:
        if self.hello and offset == 0:
            return 0
        iteration = max(0, bisect_right(self._first_packets, offset) - 1)
        first = self._first_messages[min(iteration, len(self.sizes))]
        return first + (offset - self._first_packets[iteration]) // self.message_packets

    def name(self, message: int) -> str:
        place = self.place(message)
        return f"message {message} (the hello)" if place is None else f"message {message} (piece {place[0]})"


def _uneven_layout(context: CheckContext, worker: WorkerConfig) -> UnevenLayout:
    summed = [item.event for item in context.events(CollectiveStarted) if not item.event.operation]
    sizes = dict(sorted((event.iteration, event.bytes) for event in summed))
    return UnevenLayout(
        max(sizes.values(), default=worker.workload.elements * 4),
        len(sizes),
        worker.collective.message_packets,
        worker.to_successor.path_mtu,
        worker.collective.hello,
        tuple(sizes.values()),
    )


def ring_layout(context: CheckContext, ring: PlannedRing) -> MessageLayout:
    """Of one ring of the plan, which may work on a part of the gradient."""
    if not ring.phase:
        return message_layout(context)
    part = ring.members[0]
    return MessageLayout(
        part.workload.elements * 4,
        part.workload.iterations,
        part.collective.message_packets,
        part.to_successor.path_mtu,
        part.collective.hello,
    )
