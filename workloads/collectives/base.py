"""What a worker asks of a collective: a policy over the work requests and completions of its two queue pairs."""

from __future__ import annotations

import hashlib
from collections import deque
from typing import Protocol

import numpy as np

from workloads.collectives.slots import ReceiveSlots
from workloads.config import ELEMENT_BYTES, WorkerConfig
from workloads.events import CollectiveCompleted, CollectiveStarted, PhaseCompleted, PhaseStarted
from workloads.gradients import Vector
from workloads.machine import Buffer, Event
from workloads.rc import ReceiveCompleted, SendCompleted

__all__ = ["Collective", "Phase", "Problem", "RankOfRing", "Teller", "segment"]

Problem = tuple[str, str]
"""(reason, detail) as in WorkerFailed"""


class Collective(Protocol):
    """Lives as long as its connections do; iterations follow one another on them. Never raises on what a peer sent."""

    @property
    def problem(self) -> Problem | None:
        """Set once, when it cannot go on."""
        ...

    @property
    def idle(self) -> bool:
        """The last iteration is complete and reported: its result is whole, and every message that it sent is
        acknowledged. So nothing will be read from the gradient or the result any more. True before the first one."""
        ...

    @property
    def reads_once(self) -> bool:
        """Whether the gradient and the result may be in the same memory: it reads no element of the gradient after it
        wrote that of the result."""
        ...

    @property
    def hears_acks_late(self) -> bool:
        """Until something else happens, an ACK of a message that it sent changes nothing but its event. So it may be
        heard later than it came."""
        ...

    def open(self, now: int) -> None:
        """Register memory and post the first receives, before any peer sends."""
        ...

    def start(self, iteration: int, gradient: Vector, result: Vector, now: int) -> None:
        """Begin an iteration; only when idle. `gradient` is read in place, `result` (same shape) is filled in place.
        They may be shorter than the gradients that the collective was made for, on all ranks alike."""
        ...

    def on_sent(self, completion: SendCompleted, now: int) -> None: ...

    def on_received(self, completion: ReceiveCompleted, now: int) -> None: ...

    def get_timer(self) -> int | None: ...

    def handle_timer(self, now: int) -> None: ...

    def next_event(self) -> Event | None: ...


class Phase(Collective, Protocol):
    """A collective that can be a phase of another."""

    @property
    def whole(self) -> bool:
        """What it gives is all there; messages of ours may still be on their way."""
        ...

    @property
    def messages(self) -> int:
        """That this worker sends in an iteration."""
        ...


class Teller:
    """Events of a collective, and the signal that an iteration is complete.

    The digest of a result is computed in a separate wake-up, right after the one that completed it. So the ACKs of that
    one leave first, and no peer waits for a hash. Parts of a result that are known to be final are hashed before, also
    in a separate wake-up, while links are busy. So the next iteration waits only briefly. The digest of the last
    iteration waits for the time in the worker's configuration.
    """

    def __init__(self, worker: WorkerConfig, iterations: int) -> None:
        self._last_delay_ns = worker.workload.digest_delay_ns
        self._kept = worker.collective.kept
        self.problem: Problem | None = None
        self._iterations = iterations
        self._events: deque[Event] = deque()
        self._iteration = -1
        self._gradient = self._result = memoryview(bytearray())
        self._digest_at: int | None = None
        self._completed_at = 0
        self._hash, self._hashed, self._end = hashlib.sha256(), 0, 0
        self._final = 0
        self._hash_at: int | None = None

    @property
    def reads_once(self) -> bool:
        return False

    @property
    def hears_acks_late(self) -> bool:
        return False

    def get_timer(self) -> int | None:
        return self._hash_at if self._digest_at is None else self._digest_at

    def handle_timer(self, now: int) -> None:
        if self._hash_at is not None and self._hash_at <= now:
            self._take_in(self._final)
        if self._digest_at is not None and self._digest_at <= now:
            self._digest_at = None
            self._take_in(self._end)
            digest, held = self._hash.hexdigest(), len(self._result)
            if self._kept is not None:
                held = self._kept[1] * ELEMENT_BYTES
            self._events.append(CollectiveCompleted(self._iteration, digest, held, self._completed_at))

    def next_event(self) -> Event | None:
        return self._events.popleft() if self._events else None

    def _begin(self, iteration: int, gradient: Vector, result: Vector, messages: int) -> None:
        self._iteration = iteration
        # Not `cast`, which refuses a vector without elements.
        self._gradient, self._result = gradient.view(np.uint8).data, result.view(np.uint8).data
        first, number = (0, len(result)) if self._kept is None else self._kept
        self._hash, self._hashed = hashlib.sha256(), first * ELEMENT_BYTES
        self._end = (first + number) * ELEMENT_BYTES
        self._events.append(CollectiveStarted(iteration, len(self._gradient), messages))

    def _is_final(self, stop: int, now: int) -> None:
        """The result has its last value up to byte `stop`."""
        if not self._is_last:
            self._final, self._hash_at = stop, now

    @property
    def _is_last(self) -> bool:
        return self._iteration == self._iterations - 1

    def _take_in(self, stop: int) -> None:
        self._hash_at = None
        end = min(stop, self._end)  # what follows the part that this rank holds, it does not hash
        if end > self._hashed:
            self._hash.update(self._result[self._hashed : end])
            self._hashed = end

    def _complete(self, now: int) -> None:
        """The result is whole."""
        self._completed_at = now
        self._digest_at = now + (self._last_delay_ns if self._is_last else 0)


class RankOfRing(Teller):
    """What all collectives of a ring have: receive slots in addition to the events. A collective that is a phase
    reports events of phases, and computes no digest."""

    def __init__(self, worker: WorkerConfig, slots: ReceiveSlots, iterations: int) -> None:
        super().__init__(worker, iterations)
        self._slots, self._phase = slots, worker.collective.phase

    def get_timer(self) -> int | None:
        late, digest = self._slots.get_timer(), super().get_timer()
        return digest if late is None or (digest is not None and digest < late) else late

    def handle_timer(self, now: int) -> None:
        self._slots.handle_timer(now)
        super().handle_timer(now)

    def _begin(self, iteration: int, gradient: Vector, result: Vector, messages: int) -> None:
        super()._begin(iteration, gradient, result, messages)
        if self._phase:
            self._events[-1] = PhaseStarted(iteration, self._phase, len(self._gradient), messages)

    def _is_final(self, stop: int, now: int) -> None:
        if not self._phase:
            super()._is_final(stop, now)

    def _complete(self, now: int) -> None:
        if self._phase:
            self._events.append(PhaseCompleted(self._iteration, self._phase))
        else:
            super()._complete(now)

    def _fail(self, detail: str) -> None:
        """A result is not what the predecessor had to send."""
        self.problem = "bad_result", detail


def segment(view: memoryview, start: int, stop: int) -> tuple[Buffer, ...]:
    """Bytes start..stop-1 as the segments of a work request: none when there are none."""
    return (view[start:stop],) if stop > start else ()
