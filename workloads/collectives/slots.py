"""Receive slots: a ring of equal buffers into which the predecessor's messages arrive in turn, and the receive requests
that announce them."""

from __future__ import annotations

from collections import deque

import numpy as np

from workloads.config import CollectiveConfig
from workloads.transports.endpoint import Verbs
from workloads.transports.messages import ReceiveRequest

__all__ = ["ReceiveSlots"]


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
        self._endpoint, self.qpn = endpoint, qpn
        self._count, self._slot_bytes, self._late_ns = count, slot_bytes, config.receive_late_ns
        self._with_buffer = config.verb == "send"
        self.memory = np.zeros(count * slot_bytes, np.uint8).data
        """pages come when they are used: a large ring has a thousand slots on each of its hosts"""
        self._posted = 0
        self._late: deque[int] = deque()
        if not self._with_buffer:
            endpoint.register_memory(config.rkey, config.base_va, self.memory, endless=endless)

    def view(self, message: int) -> memoryview:
        """The slot of that message, all of it."""
        at = message % self._count * self._slot_bytes
        return self.memory[at : at + self._slot_bytes]

    def post(self, requests: int, now: int) -> None:
        """Post receives for the next `requests` messages. The caller is done with the slots they will arrive in."""
        if self._late_ns:
            self._late.extend([now + self._late_ns] * requests)
        elif requests:
            self._post(requests)

    @property
    def posts_late(self) -> bool:
        return self._late_ns > 0

    def arrived(self, messages: int, taken: int, now: int) -> None:
        """`messages` came, and compiled code posted a request again for each. `taken` requests that were posted before
        are gone; those that are posted now stand for them."""
        self._posted += messages - taken
        self.post(taken, now)

    def get_timer(self) -> int | None:
        return self._late[0] if self._late else None

    def handle_timer(self, now: int) -> None:
        due = 0
        while self._late and self._late[0] <= now:
            self._late.popleft()
            due += 1
        if due:
            self._post(due)

    def _post(self, requests: int) -> None:
        messages = range(self._posted, self._posted + requests)
        if self._with_buffer:
            found = [ReceiveRequest(message, self.view(message)) for message in messages]
        else:
            found = list(map(ReceiveRequest, messages))
        self._posted += requests
        self._endpoint.post_receives(self.qpn, found)
