"""All-reduces in steps of two ranks each: one rank's phases of a schedule of `pairs.py`.

Rules of this file
- A step begins when the one before is over: its messages came, ours are acknowledged. That is what closed forms of
  these schedules count. Peers may be further: a phase takes what comes before its time.
- A step that sums reads what the one before left, and writes elsewhere: what is on its way must stay as it is until it
  is acknowledged. Two buffers take turns, which suffices since a step begins when nothing of the one before is on its
  way. The last step that sums writes to the result, where the steps that spread go on.
- An iteration is over when the result is whole; messages of ours may still be on their way, and the next one waits.
"""

from __future__ import annotations

import numpy as np

from workloads.collectives.phased import INWARD, PhasedCollective
from workloads.collectives.slots import Verbs
from workloads.config import WorkerConfig
from workloads.gradients import Vector

__all__ = ["PairedCollective"]


class PairedCollective(PhasedCollective):
    """Raises ScenarioError as PhasedCollective does."""

    def __init__(self, worker: WorkerConfig, endpoint: Verbs, elements: int, iterations: int) -> None:
        super().__init__(worker, endpoint, elements, iterations)
        summing = [number for number, phase in enumerate(worker.phases) if phase.collective.kind in INWARD]
        self._last_sum = summing[-1] if summing else -1
        self._spare: Vector = np.zeros(elements if len(summing) > 2 else 0, "<u4")
        self._held: Vector = self._partial

    def start(self, iteration: int, gradient: Vector, result: Vector, now: int) -> None:
        self._held = gradient
        super().start(iteration, gradient, result, now)

    def _is_over(self) -> bool:
        phase = self._phases[self._current]
        return phase.whole if self._current + 1 == len(self._phases) else phase.idle

    def _buffers(self, kind: str) -> tuple[Vector, Vector]:
        if self._current > self._last_sum:
            return self._output, self._output
        source = self._held
        if self._current == self._last_sum:
            self._held = self._output
        else:
            self._held = self._spare if source is self._partial else self._partial
        return source, self._held
