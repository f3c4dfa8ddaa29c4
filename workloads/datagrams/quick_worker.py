"""What workers that send blocks as datagrams have in common, on the compiled path: an iteration's gradient becomes a
tensor of packets, the window says which may be under way, results put the sum together. What a packet says is each
protocol's own.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any

import cython

from workloads.config import JobShare
from workloads.datagrams.packet_window import PacketWindow
from workloads.datagrams.quantisation import Tensor, Unquantisable, create_tensor
from workloads.datagrams.training import Training
from workloads.events import CollectiveStarted, DatagramStatistics, FrameRejected
from workloads.gradients import Vector
from workloads.machine import Buffer, Event
from workloads.quick import Quick

if not cython.compiled:
    from workloads.kernels import NEVER

__all__ = ["QuickWorker"]


class QuickWorker(Quick):
    """A Machine of one port. A protocol says what `take` does with a frame, and `give` sends. `fixed_scale`: by which
    floats are multiplied, None: by exponents. A subclass may override what has no underscore."""

    def __init__(
        self,
        share: JobShare,
        training: Training,
        window: PacketWindow,
        elements: int,
        fixed_scale: float | None = None,
    ) -> None:
        super().__init__(training.events, deque())
        self._share, self._training = share, training
        self._job, self._rank, self._size = share.job, share.rank, share.size
        self._block, self._fixed_scale = elements, fixed_scale
        self._window: Any = window
        """a PacketWindow; protocols know which"""
        self._tensor: Tensor | None = None
        """None: between iterations"""
        self._failed = self._awaits = False
        self._ready, self._total = 0, len(training.gradient)
        """elements of the gradient that may be sent, and all of them"""
        self._iteration = 0
        self._training_due = NEVER
        self._is_layered = training.is_layered
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
        """Of the current iteration, or the last one until the next begins."""
        return self._training.result

    @property
    def failed(self) -> bool:
        """The job cannot go on."""
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
        due = self._window.due()
        return due if due < self._training_due else self._training_due

    def wake(self, now: int) -> None:
        if self._failed:
            return
        self._timeouts += self._window.expire(now)
        if self._training_due <= now or self._awaits:
            if self._training.handle_timer(now):
                self.begin(now)
            self._follow()
        self._window.release()

    def begin(self, now: int) -> None:
        """An iteration."""
        training = self._training
        try:
            tensor = create_tensor(
                training.gradient, training.result, block=self._block, workers=self._size, window=self._window.window,
                fixed_scale=self._fixed_scale,
            )  # fmt: skip
        except Unquantisable as error:
            training.fail("unquantisable", str(error))
            return
        self._tensor, self._total = tensor, len(training.gradient)
        self.events.append(CollectiveStarted(training.iteration, training.gradient.nbytes, tensor.packets))
        self._window.start(tensor.packets)

    def _follow(self) -> None:
        """What is asked of the training at each packet, after it went on."""
        training = self._training
        due = training.get_timer()
        self._training_due = NEVER if due is None else due
        self._ready, self._failed, self._awaits = training.ready, training.failed, training.awaits
        self._iteration = training.iteration

    def may_leave(self, packet: int) -> bool:
        """Whether its first block is computed; the last packets of floats carry exponents only."""
        end: int = (packet - self._window.first + 1) * self._block
        return self._ready >= min(end, self._total) or end >= self._total + self._block

    def put(self, packet: int, first: int, second: int, frame: bytes, at: int, count: int, now: int) -> None:
        """The sum of an outstanding packet: exponents, and elements in a frame."""
        tensor, own = self._tensor, packet - self._window.first
        assert tensor is not None, "a packet is outstanding"
        self._results += 1
        tensor.put(own, first, second, frame, at, count)
        if self._is_layered:
            self._training.deliver((own - tensor.ahead) * self._block, count, now)
            self._follow()
        self._window.settle(packet, now)
        if not self._window.missing:
            self.complete(now)

    def complete(self, now: int) -> None:
        """All results of an iteration are there."""
        self._tensor = None
        self._training.complete(now)
        self._follow()

    def fail(self, reason: str, detail: str) -> None:
        """The job."""
        self._training.fail(reason, detail)
        self._follow()

    def reject(self, reason: str, detail: str) -> None:
        self._rejected += 1
        self.events.append(FrameRejected(reason, detail))
