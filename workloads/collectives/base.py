"""What a worker asks of a collective: a policy over the work requests and completions of its two queue pairs."""

from __future__ import annotations

from typing import Protocol

from workloads.gradients import Vector
from workloads.machine import Buffer, Event
from workloads.rc import ReceiveCompleted, ReceiveRequest, SendCompleted, SendRequest

__all__ = ["Collective", "Problem", "Verbs"]

Problem = tuple[str, str]
"""(reason, detail) as in WorkerFailed"""


class Verbs(Protocol):
    """The part of an RC endpoint that collectives use."""

    def register_memory(self, rkey: int, base_va: int, memory: memoryview) -> None: ...

    def post_send(self, qpn: int, request: SendRequest, now: int) -> None: ...

    def post_receive(self, qpn: int, request: ReceiveRequest) -> None: ...

    def outstanding_packets(self, qpn: int) -> int: ...


class Collective(Protocol):
    """Lives as long as its connections do; iterations follow one another on them. Never raises on what a peer sent."""

    problem: Problem | None
    """set once, when it cannot go on"""

    @property
    def idle(self) -> bool:
        """The last iteration is complete: its result is whole, and every message of ours is acknowledged, so that
        nothing will be read from the gradient or the result any more."""
        ...

    def open(self, now: int) -> None:
        """Register memory and post the first receives, before any peer sends."""
        ...

    def start(self, iteration: int, gradient: Vector, result: Vector, now: int) -> None:
        """Begin an iteration; only when idle. `gradient` is read in place, `result` (same shape) is filled in place."""
        ...

    def on_sent(self, completion: SendCompleted, now: int) -> None: ...

    def on_received(self, completion: ReceiveCompleted, now: int) -> None: ...

    def get_timer(self) -> int | None: ...

    def handle_timer(self, now: int) -> None: ...

    def next_event(self) -> Event | None: ...


def as_bytes(vector: Vector) -> memoryview:
    """The vector's bytes, without a copy."""
    return memoryview(vector).cast("B")


def segment(view: memoryview, start: int, stop: int) -> tuple[Buffer, ...]:
    """Bytes start..stop-1 as the segments of a work request: none when there are none."""
    return (view[start:stop],) if stop > start else ()
