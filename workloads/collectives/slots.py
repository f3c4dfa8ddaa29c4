"""Receive slots: a ring of equal buffers into which the predecessor's messages arrive in turn, and the receive requests
that announce them."""

from __future__ import annotations

from collections import deque
from typing import Protocol

from workloads.config import CollectiveConfig
from workloads.rc import ReceiveRequest, SendRequest

__all__ = ["ReceiveSlots", "Verbs"]


class Verbs(Protocol):
    """The part of an RC endpoint that collectives use."""

    def register_memory(self, rkey: int, base_va: int, memory: memoryview, *, endless: bool = False) -> None: ...

    def post_send(self, qpn: int, request: SendRequest, now: int) -> None: ...

    def post_receive(self, qpn: int, request: ReceiveRequest) -> None: ...

    def outstanding_packets(self, qpn: int) -> int: ...


class ReceiveSlots:
    """Message m arrives in slot m mod `count`. Verb write: the peer addresses the slot, a receive request only counts;
    verb send: the m-th receive request carries the slot. With `late_ns` each request is posted that much later than it
    could be."""

    def __init__(
        self,
        endpoint: Verbs,
        qpn: int,
        config: CollectiveConfig,
        *,
        count: int,
        slot_bytes: int,
        endless: bool = False,
    ) -> None:
        """`config`: verb, delay of receives, address and key of the memory. `endless`: the peer addresses message m
        behind message m-1, not its slot."""
        self._endpoint, self._qpn = endpoint, qpn
        self._count, self._slot_bytes, self._late_ns = count, slot_bytes, config.receive_late_ns
        self._with_buffer = config.verb == "send"
        self._memory = memoryview(bytearray(count * slot_bytes))
        self._posted = 0
        self._late: deque[int] = deque()
        if not self._with_buffer:
            endpoint.register_memory(config.rkey, config.base_va, self._memory, endless=endless)

    def view(self, message: int) -> memoryview:
        """The slot of that message, all of it."""
        at = message % self._count * self._slot_bytes
        return self._memory[at : at + self._slot_bytes]

    def post(self, requests: int, now: int) -> None:
        """Post receives for the next `requests` messages. The caller is done with the slots they will arrive in."""
        for _ in range(requests):
            if self._late_ns:
                self._late.append(now + self._late_ns)
            else:
                self._post_one()

    def get_timer(self) -> int | None:
        return self._late[0] if self._late else None

    def handle_timer(self, now: int) -> None:
        while self._late and self._late[0] <= now:
            self._late.popleft()
            self._post_one()

    def _post_one(self) -> None:
        memory = self.view(self._posted) if self._with_buffer else None
        self._endpoint.post_receive(self._qpn, ReceiveRequest(self._posted, memory))
        self._posted += 1
