"""The iterations of one worker, one after the other: when they start, what they work on, and their events.

For workers that are Machines of their own. `WorkerMachine` has the same life around an RC endpoint.
"""

from __future__ import annotations

from collections import deque

import numpy as np

from workloads.config import DIGEST_DELAY_NS, ELEMENT_BYTES, WorkloadConfig
from workloads.datagrams.compute import LayerCompute, Passes
from workloads.datagrams.digests import RESULTS
from workloads.events import CollectiveCompleted, GradientComputed, WorkerFailed, WorkerFinished
from workloads.gradients import GradientSource, Vector, awaited, work_buffers
from workloads.machine import Event

__all__ = ["Training", "longest_digest_delay_ns"]

_TURNS = 20
"""turns in the delay of the last digest. Ranks take turns because no worker waits for this digest: all workers of a job
get its last result at once, and may share few processors"""


def longest_digest_delay_ns(workers: int) -> int:
    """Between a job's last result and the end of its last worker."""
    return DIGEST_DELAY_NS + workers * (DIGEST_DELAY_NS // _TURNS)


class Training:
    """The first iteration starts at `start_ns`, each `straggle_ns` late. The digest of a result is computed in a
    separate wake-up, so the frames that the last packet causes leave first. The next gradient is made there too.
    Workers of one job take turns with that while they compute, so that it delays nothing.

    Without `compute` a gradient is ready as a whole. With it, the gradient becomes ready layer by layer, from its
    beginning: `ready` elements of it may be sent. A worker looks at `ready` again after each `handle_timer`. It reports
    results as they come (`deliver`), since the next forward pass, or the next stage, waits for them layer by layer.
    Results that it does not report count as there when it calls `complete`. In stages it must report all of them, or it
    waits for ever.

    `gradient`: shape (elements,), of the iteration that runs or comes next; `result`: same shape, to be filled in
    place; the same memory with `in_place`. `kept`: (first, number) of the elements whose digest is reported; None: all.
    """

    def __init__(
        self,
        source: GradientSource,
        *,
        rank: int,
        start_ns: int,
        straggle_ns: int,
        compute: LayerCompute | None = None,
        digest_delay_ns: int = DIGEST_DELAY_NS,
        in_place: bool = False,
        kept: tuple[int, int] | None = None,
    ) -> None:
        self._source, self._straggle_ns, self._compute = source, straggle_ns, compute
        self._last_delay_ns, self._turn_ns = digest_delay_ns, rank * digest_delay_ns // _TURNS
        self.iteration = 0
        self._awaited = awaited(source)
        self._awaits = False
        self._poll_at: int | None = None
        """awaiting a gradient: when to ask again"""
        self._room: Vector = np.empty(source.elements, source.dtype)
        self._room.fill(0)  # has the pages now, not while the clock runs
        self._in_place, self._kept = in_place, kept
        self.gradient: Vector
        self.result: Vector
        self._take(source.gradient(0) if self._awaited is None else np.empty(0, source.dtype))
        self.ready = 0
        """elements, from the beginning of the gradient, that may be sent"""
        self._start_at: int | None = None
        self._steps: deque[tuple[int, int]] = deque()
        """(when, ready) of the running iteration, those that are to come"""
        self._passes: Passes | None = None
        self._digest_at: int | None = None
        self._completed_at = 0
        self.events: deque[Event] = deque()
        """events in the order of time; the worker adds its own"""
        self.finished = self.failed = False
        self._plan_passes(0, start_ns)
        self._begin(start_ns)

    @classmethod
    def of(cls, workload: WorkloadConfig, source: GradientSource, rank: int, start_ns: int) -> Training:
        """The training of a worker of that rank, by its configuration; `start_ns`: when the traffic starts. Raises
        ValueError when layers and gradient have different sizes."""
        compute = None
        if workload.compute is not None:
            compute = LayerCompute(workload.compute, workload.seed, rank)
            if compute.elements != source.elements:
                raise ValueError(f"layers of {compute.elements} elements, a gradient of {source.elements}")
        begins = start_ns + workload.arrival_ns
        return cls(
            source,
            rank=rank,
            start_ns=begins,
            straggle_ns=workload.straggle_ns,
            compute=compute,
            digest_delay_ns=workload.digest_delay_ns,
            in_place=workload.in_place,
            kept=workload.kept,
        )

    @property
    def iterations(self) -> int:
        """That there are; of a source that awaits gradients, more than will come, until it knows."""
        return self._source.iterations

    @property
    def awaits(self) -> bool:
        """Whether the worker waits for the next gradient, which comes from outside."""
        return self._awaits

    @property
    def is_layered(self) -> bool:
        """Whether the worker must report results as they come (`deliver`)."""
        return self._compute is not None

    def get_timer(self) -> int | None:
        if self._awaits:
            return 0 if self._is_due() else self._poll_at
        if self._start_at is not None:
            return self._start_at
        if self._digest_at is not None:
            return self._digest_at
        return self._steps[0][0] if self._steps else None

    def handle_timer(self, now: int) -> bool:
        """True: the iteration starts now."""
        if self._digest_at is not None and self._digest_at <= now:
            self._digest_at = None
            self._conclude(now)
            return False  # the next wake-up starts the next one, so that no event carries a time from before the work
        starts = self._awaits or (self._start_at is not None and self._start_at <= now)
        if starts:
            self._start_at = None
            starts = self._awaited is None or self._await(now)
        if starts or self._steps:
            self._grow(now)
        return starts

    def deliver(self, first: int, elements: int, now: int) -> None:
        """The result of these elements is there, once each."""
        if self._compute is None:
            return
        self._compute.deliver(first, elements, now)
        following = self._compute.next_stage(now)
        if following is not None:
            self._steps.append(following)

    def complete(self, now: int) -> None:
        """The result is whole."""
        self._completed_at = self._digest_at = now
        if self.iteration == self._source.iterations - 1:
            self._digest_at += self._last_delay_ns + self._turn_ns
            return
        self._plan_passes(self.iteration + 1, now)
        if self._passes is not None:
            first_ready_at, _ = self._passes.ready[0]
            self._digest_at += min(self._turn_ns, (first_ready_at - now) // 2)

    def fail(self, reason: str, detail: str) -> None:
        if not self.failed and not self.finished:
            self.failed, self._awaits = True, False
            self._start_at = self._digest_at = None
            self._steps.clear()
            self.events.append(WorkerFailed(reason, detail))

    def _plan_passes(self, iteration: int, now: int) -> None:
        """All that is needed for it is there."""
        if self._compute is not None:
            self._compute.deliver_rest(now)
            self._passes = self._compute.passes(iteration, self._straggle_ns)

    def _take(self, gradient: Vector) -> None:
        self.gradient, self.result = work_buffers(gradient, self._room, self._in_place)

    def _begin(self, now: int) -> None:
        """The next iteration."""
        self.ready = 0
        if self._passes is None:
            self._start_at = now + self._straggle_ns
            return
        self._steps = deque(self._passes.ready)
        self._start_at = self._steps[0][0]

    def _grow(self, now: int) -> None:
        if self._passes is None:
            self.ready = self._source.elements
            return
        while self._steps and self._steps[0][0] <= now:
            ready_at, self.ready = self._steps.popleft()
            if self.ready == self._source.elements:
                passes = self._passes
                self.events.append(GradientComputed(self.iteration, passes.forward_at, passes.backward_at, ready_at))

    def _conclude(self, now: int) -> None:
        data = self.result.data.cast("B")
        if self._kept is not None:
            first, number = self._kept
            data = data[ELEMENT_BYTES * first : ELEMENT_BYTES * (first + number)]
        digest = RESULTS.of(id(self), data)
        self.events.append(CollectiveCompleted(self.iteration, digest, len(data), self._completed_at))
        progress = self._source.apply(self.iteration, self.result)
        if progress is not None:
            self.events.append(progress)
        self.iteration += 1
        if self._awaited is not None:
            self._begin(now)
        elif self.iteration < self._source.iterations:
            self._take(self._source.gradient(self.iteration))
            self._begin(now)
        else:
            self._finish()

    def _finish(self) -> None:
        self.finished = True
        self.events.append(WorkerFinished(self._source.iterations))

    def _await(self, now: int) -> bool:
        """True when the next gradient of an awaiting source is there. Ends the training when there will be no more."""
        source = self._awaited
        assert source is not None
        self._awaits = not self._is_due()
        self._poll_at = now + source.poll_ns if source.poll_ns else None
        if self._awaits:
            return False
        if self.iteration >= source.iterations:
            self._finish()
            return False
        self._take(source.gradient(self.iteration))
        return True

    def _is_due(self) -> bool:
        source = self._awaited
        return source is not None and (source.is_ready(self.iteration) or self.iteration >= source.iterations)
