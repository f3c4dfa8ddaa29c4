"""How a collective is cut into messages and packets (protocol text sections 2 and 8), worked out from the plan alone.

With a hello, message 0 is one packet with the 16-byte INA header and no elements. Each iteration then takes
K = ceil(bytes / (L S - 16)) messages of L packets, the last of them shorter. Numbers are never reset.
"""

from __future__ import annotations

from dataclasses import dataclass

from testbed.checkers.context import CheckContext
from testbed.plan.rings import PlannedRing
from workloads.events import CollectiveStarted

__all__ = ["INA_HEADER_BYTES", "MessageLayout", "message_layout", "ring_layout"]

INA_HEADER_BYTES = 16


@dataclass(frozen=True, slots=True)
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
    """Of the job in `context`, whose workers form a ring. The gradient's size is what the workers told, else what the
    scenario asks for."""
    worker = context.plan.ring_workers[0]
    told = [record.event.bytes for record in context.events(CollectiveStarted)]
    workload, collective = worker.workload, worker.collective
    return MessageLayout(
        told[0] if told else workload.elements * 4,
        workload.iterations,
        collective.message_packets,
        worker.to_successor.path_mtu,
        collective.hello,
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
