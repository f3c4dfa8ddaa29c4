"""What hosts that send datagrams have in common on the compiled path, for all packet formats: the iterations of a
training, counters, and the verbs of a Machine."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

import cython

from workloads.config import JobShare
from workloads.datagrams.training import Training
from workloads.events import DatagramStatistics, FrameRejected
from workloads.gradients import Vector
from workloads.machine import Buffer, Event
from workloads.quick import Quick
from workloads.wire.aggregation import DatagramError, decode_datagram

if not cython.compiled:
    from workloads.kernels import NEVER
    from workloads.wire.inspected import is_sound

__all__ = ["QuickHost"]


class QuickHost(Quick):
    """A Machine of one port. A protocol defines what `take` does with a frame, what `give` sends, what `begin` starts,
    and when packets time out. A subclass may override what has no underscore."""

    def __init__(self, share: JobShare, training: Training) -> None:
        super().__init__(training.events, deque())
        self._share, self._training = share, training
        self._job, self._rank, self._size = share.job, share.rank, share.size
        self._failed = self._awaits = False
        self._ready = 0
        """elements of the gradient that may be sent"""
        self._iteration = 0
        self._training_due = NEVER
        self._sent = self._sent_again = self._results = self._duplicates = self._timeouts = self._rejected = 0
        self._follow()

    @property
    def quick(self) -> Quick:
        """Itself."""
        return self

    @property
    def finished(self) -> bool:
        """All iterations are complete."""
        return self._training.finished

    @property
    def result(self) -> Vector:
        """The result of the current iteration, or the last one until the next begins."""
        return self._training.result

    @property
    def failed(self) -> bool:
        """The job cannot continue."""
        return self._training.failed

    def receive_frame(self, port: int, frame: Buffer, now: int) -> None:
        self.take(port, bytes(frame), now)

    def frames_to_send(self, now: int) -> Iterator[tuple[int, bytes]]:
        while (frame := self.give(now)) is not None:
            yield 0, frame

    def get_timer(self) -> int | None:
        due = self.due()
        return None if due == NEVER else due

    def handle_timer(self, now: int) -> None:
        self.wake(now)

    def next_event(self) -> Event | None:
        events: deque[Event] = self.events
        return events.popleft() if events else None

    def finish(self, now: int) -> None:
        self.events.append(
            DatagramStatistics(
                self._job, self._sent, self._sent_again, self._results, self._duplicates, self._timeouts,
                self._rejected,
            )
        )  # fmt: skip

    def due(self) -> int:
        if self._failed:
            return NEVER
        if self._awaits:
            self._follow()  # what it awaits comes from outside
        due = self.packets_due()
        return due if due < self._training_due else self._training_due

    def wake(self, now: int) -> None:
        if self._failed:
            return
        self._timeouts += self.expire(now)
        if self._training_due <= now or self._awaits:
            if self._training.handle_timer(now):
                self.begin(now)
            self._follow()

    def packets_due(self) -> int:
        """Time when the first packet times out; NEVER: none does."""
        return NEVER

    def expire(self, now: int) -> int:
        """Resend the packets that timed out. Returns how many they are."""
        return 0

    def begin(self, now: int) -> None:
        """An iteration."""
        raise NotImplementedError

    def complete(self, now: int) -> None:
        """The result of an iteration is whole."""
        self._training.complete(now)
        self._follow()

    def fail(self, reason: str, detail: str) -> None:
        """The job."""
        self._training.fail(reason, detail)
        self._follow()

    def reject(self, reason: str, detail: str) -> None:
        self._rejected += 1
        self.events.append(FrameRejected(reason, detail))

    def _is_readable(self, frame: bytes) -> bool:
        """Whether it is a datagram; a damaged one is reported."""
        if is_sound(frame):
            return True
        try:
            decode_datagram(frame)  # which says why
        except DatagramError as error:
            self.reject(error.reason, str(error))
        return False

    def _follow(self) -> None:
        """Copy the state of the training that each packet needs, after the training has changed."""
        training = self._training
        due = training.get_timer()
        self._training_due = NEVER if due is None else due
        self._ready, self._failed, self._awaits = training.ready, training.failed, training.awaits
        self._iteration = training.iteration
