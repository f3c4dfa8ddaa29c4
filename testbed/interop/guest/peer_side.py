"""One end of a peer test: two endpoints, two queue pairs each (one to send, one to receive), messages of all sizes both
ways. The same on our endpoint and on a device, since both have the same verbs.

Each message has a place of its own in the receiver's memory, which is full of 0xEE before, also between the places. So
what was not delivered, or landed elsewhere, shows.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from workloads.config import QpConfig
from workloads.rc import SUCCESS, ReceiveRequest, SendCompleted, SendRequest
from workloads.transports.endpoint import ReliableEndpoint

__all__ = ["PeerConfig", "PeerMessage", "PeerSide", "expected_memory", "memory_bytes"]

_FILL, _GUARD = 0xEE, 64


@dataclass(frozen=True, slots=True)
class PeerMessage:
    verb: str
    """send, write"""
    size: int
    imm: int | None = None


@dataclass(frozen=True, slots=True)
class PeerConfig:
    """One end. Names are planned ones until they are known, as with workers."""

    send_qp: QpConfig
    receive_qp: QpConfig
    sends: tuple[PeerMessage, ...]
    receives: tuple[PeerMessage, ...]
    """what the other end sends, in order"""
    seed: int
    """seed of what this end sends"""
    base_va: int
    rkey: int
    peer_base_va: int
    peer_rkey: int
    receive_late_ns: int = 0
    """receives are posted that late; negative: never"""
    receive_short: int = 0
    """receives are that many bytes too short"""


class PeerSide:
    """Receives are posted when it is made, unless they are late; sends at the start. Done when each send has ended and
    each receive that can end has."""

    def __init__(self, config: PeerConfig, endpoint: ReliableEndpoint) -> None:
        """The endpoint has the queue pairs already. Registers memory."""
        self._config, self._endpoint = config, endpoint
        self._memory = memoryview(bytearray([_FILL]) * memory_bytes(config.receives))
        endpoint.register_memory(config.rkey, config.base_va, self._memory)
        self._kept = [_content(config.seed, number, message.size) for number, message in enumerate(config.sends)]
        self._receive_at: int | None = None
        self._wanted = sum(1 for message in config.receives if _takes_receive(message))
        self._sent: list[str] = []
        self._received: list[tuple[int | None, int]] = []
        self.failed = False
        if config.receive_late_ns == 0:
            self._post_receives()

    @property
    def done(self) -> bool:
        """Nothing more can happen here; the other end may still need our ACKs."""
        return self.failed or (len(self._sent) == len(self._config.sends) and len(self._received) >= self._wanted)

    def start(self, now: int) -> None:
        if self._config.receive_late_ns > 0:
            self._receive_at = now + self._config.receive_late_ns
        places = _places(self._config.sends)
        for number, (message, at) in enumerate(zip(self._config.sends, places, strict=True)):
            remote = self._config.peer_base_va + at if message.verb == "write" else None
            request = SendRequest(number, (self._kept[number],), message.imm, remote, self._config.peer_rkey)
            self._endpoint.post_send(self._config.send_qp.qpn, request, now)

    def get_timer(self) -> int | None:
        return self._receive_at

    def handle_timer(self, now: int) -> None:
        if self._receive_at is not None and self._receive_at <= now:
            self._receive_at = None
            self._post_receives()

    def _post_receives(self) -> None:
        messages = self._config.receives
        for number, (message, at) in enumerate(zip(messages, _places(messages), strict=True)):
            if _takes_receive(message):
                room = self._memory[at : at + max(0, message.size - self._config.receive_short)]
                memory = room if message.verb == "send" else None
                self._endpoint.post_receives(self._config.receive_qp.qpn, [ReceiveRequest(number, memory)])

    def advance(self) -> None:
        """Take what completed."""
        while (completion := self._endpoint.next_completion()) is not None:
            if isinstance(completion, SendCompleted):
                self._sent.append(completion.status)
                self.failed = self.failed or completion.status != SUCCESS
            else:
                self._received.append((completion.imm, completion.length))

    def report(self) -> dict[str, Any]:
        """JSON values."""
        return {
            "sent": self._sent,
            "received": [[imm, length] for imm, length in self._received],
            "memory": hashlib.sha256(self._memory).hexdigest(),
        }


def memory_bytes(messages: Sequence[PeerMessage]) -> int:
    """What a receiver of them registers."""
    return sum(_room(message) for message in messages) + _GUARD


def expected_memory(messages: Sequence[PeerMessage], seed: int, delivered: int) -> str:
    """SHA-256 of the receiver's memory when the first `delivered` messages have landed and nothing else has."""
    memory = bytearray([_FILL]) * memory_bytes(messages)
    for number, (message, at) in enumerate(zip(messages, _places(messages), strict=True)):
        if number < delivered:
            memory[at : at + message.size] = _content(seed, number, message.size)
    return hashlib.sha256(memory).hexdigest()


def _takes_receive(message: PeerMessage) -> bool:
    return message.verb == "send" or message.imm is not None


def _room(message: PeerMessage) -> int:
    return _GUARD + message.size


def _places(messages: Sequence[PeerMessage]) -> list[int]:
    """Where each message lands: odd addresses as well."""
    places, at = [], _GUARD
    for message in messages:
        places.append(at)
        at += _room(message)
    return places


def _content(seed: int, number: int, size: int) -> bytes:
    words = np.random.Philox(key=np.array([seed, number], np.uint64)).random_raw(-(-size // 8))
    return bytes(words.astype("<u8").tobytes()[:size])
