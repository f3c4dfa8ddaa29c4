"""Collectives of several phases, each a ring of some workers over a part of the gradient. The plan writes the schedule
of the phases into each worker's configuration.

| for example | first | then | last |
|---|---|---|---|
| parallel_netreduce | reduce_scatter inside the machine | netreduce of a piece between machines | all_gather inside |
| tencent | chain_reduce to the master | ring of the masters | chain_broadcast |
| schedules of pairs (`pairs.py`) | exchange, reduce_scatter, chain_reduce, collect | | all_gather, chain_broadcast |

Rules of this file
- Phases of one step run together. A step begins when the worker has all results of the step before. Where the phase
  `waits_for_acks`, all messages of that step must be acknowledged too, as closed forms of schedules count. Peers may be
  ahead or behind. A phase accepts data that comes early, as a collective does between iterations.
- A step that sums reads what the step before left, and writes elsewhere: data on its way must not change until it is
  acknowledged. Two buffers take turns. Two suffice: of the steps after which no rank waits, only the first is followed
  by another step that sums. The
  last step that sums writes to the result, where the steps that spread continue. It does not if it sends partial sums
  and results may be back before these are acknowledged.
- `ready` is only a signal: the worker that gets it may begin what it would otherwise do too early. Its data is dropped.
- The data of `collect` is kept apart, and summed when all of it is there. The worker's own vector comes first, then the
  others in the order of the phases.
- An iteration is over when all phases are, with all their messages acknowledged.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import groupby

import numpy as np

from workloads.collectives.arithmetic import fold
from workloads.collectives.base import Phase, Teller
from workloads.collectives.kinds import KINDS_OF_PHASES, ring_kind
from workloads.collectives.netreduce import NetReduceCollective
from workloads.collectives.ring import RingCollective
from workloads.collectives.schedules import chunk_bounds
from workloads.config import ELEMENT_BYTES, WorkerConfig
from workloads.errors import ScenarioError
from workloads.gradients import Vector
from workloads.rc import ReceiveCompleted, SendCompleted
from workloads.transports.endpoint import Verbs

__all__ = ["PhasedCollective", "ring_of_phase"]

_SPREADING = ("all_gather", "chain_broadcast")
_SWAPPING = "swap"
_MOVING = (*_SPREADING, _SWAPPING, "ready")
"""these sum nothing"""
_GIVING = ("reduce_scatter", "chain_reduce")
"""a rank gives partial sums away, and has results back"""
_KEPT_APART = ("collect", "ready")


def ring_of_phase(kind: str) -> Callable[[WorkerConfig, Verbs, int, int], Phase]:
    """What runs one ring as a phase."""
    return NetReduceCollective if ring_kind(kind).in_messages else RingCollective


class PhasedCollective(Teller):
    """Raises ScenarioError for a phase that is none, and for an arithmetic whose partial results lose what the sum
    needs."""

    def __init__(self, worker: WorkerConfig, endpoint: Verbs, elements: int, iterations: int) -> None:
        super().__init__(worker, iterations)
        _check(worker)
        self._arithmetic = worker.collective.arithmetic
        self._seat = worker.collective.rank, worker.collective.size
        self._given: Vector = np.zeros(0, "<u4")
        self._configs, self._phases = worker.phases, list[Phase]()
        self._by_qpn: dict[int, Phase] = {}
        for part in worker.parts:
            phase = ring_of_phase(part.collective.kind)(part, endpoint, part.workload.elements, iterations)
            self._phases.append(phase)
            self._by_qpn[part.to_successor.qpn] = self._by_qpn[part.from_predecessor.qpn] = phase
        self._acted = list(self._phases)
        """Phases that may have something to report: a sharded parameter server has four for each other worker."""
        self._late = [
            phase for phase, part in zip(self._phases, worker.parts, strict=True) if part.collective.receive_late_ns
        ]
        """phases that have timers: all that wait is a receive that is posted late"""
        self._rows: dict[int, Vector] = {
            number: np.zeros(config.elements, "<u4")
            for number, config in enumerate(worker.phases)
            if config.collective.kind in _KEPT_APART and config.collective.rank == 1
        }
        """what a phase brings that is kept apart, by its number"""
        self._steps = [list(step) for _, step in groupby(range(len(worker.phases)), lambda at: worker.phases[at].step)]
        summing = [at for at, step in enumerate(self._steps) if self._kind(step[0]) not in _MOVING]
        self._last_sum = summing[-1] if summing else -1
        self._partial: Vector = np.zeros(elements, "<u4")
        self._spare: Vector = np.zeros(elements if len(summing) > 2 else 0, "<u4")
        self._source: Vector = self._partial
        """what the current step, if it sums, reads"""
        self._held: Vector = self._partial
        """what it leaves"""
        self._output: Vector = self._partial
        self._current = len(self._steps)
        self._over = True

    @property
    def idle(self) -> bool:
        return self._over and self._digest_at is None and all(phase.idle for phase in self._phases)

    def open(self, now: int) -> None:
        for phase in self._phases:
            phase.open(now)

    def start(self, iteration: int, gradient: Vector, result: Vector, now: int) -> None:
        self._begin(iteration, gradient, result, sum(phase.messages for phase in self._phases))
        self._held, self._output = gradient, result
        self._given = gradient
        if self._last_sum < 0:
            self._fill(gradient, result)
        self._over = False
        self._current = -1
        self._begin_next(now)
        self._go_on(now)

    def on_sent(self, completion: SendCompleted, now: int) -> None:
        phase = self._by_qpn[completion.qpn]
        phase.on_sent(completion, now)
        self._acted.append(phase)
        self._go_on(now)

    def on_received(self, completion: ReceiveCompleted, now: int) -> None:
        phase = self._by_qpn[completion.qpn]
        phase.on_received(completion, now)
        self._acted.append(phase)
        self._go_on(now)

    def get_timer(self) -> int | None:
        if not self._late:
            return self._digest_at
        timers = [phase.get_timer() for phase in self._late]
        return min((timer for timer in (*timers, self._digest_at) if timer is not None), default=None)

    def handle_timer(self, now: int) -> None:
        for phase in self._late:
            phase.handle_timer(now)
        self._acted += self._late
        super().handle_timer(now)
        self._go_on(now)

    def _kind(self, phase: int) -> str:
        return self._configs[phase].collective.kind

    def _go_on(self, now: int) -> None:
        """Report the events of the phases, and begin the steps whose time has come."""
        while True:
            acted, self._acted = self._acted, []
            for phase in acted:
                while (event := phase.next_event()) is not None:
                    self._events.append(event)
                self.problem = self.problem or phase.problem
            if self._over or self.problem is not None or not self._is_over():
                return
            self._sum_what_was_collected()
            if self._current + 1 < len(self._steps):
                self._begin_next(now)
            else:
                self._over = True
                self._complete(now)

    def _fill(self, gradient: Vector, result: Vector) -> None:
        """What the result has before any phase: a phase that spreads goes on from it, and swaps leave out this rank's
        own chunk."""
        if self._kind(0) != _SWAPPING:
            result[:] = gradient
            return
        rank, size = self._seat
        start, stop = (at // ELEMENT_BYTES for at in chunk_bounds(len(gradient), size)[rank])
        first = rank * (stop - start)
        result[first : first + stop - start] = gradient[start:stop]

    def _begin_next(self, now: int) -> None:
        self._current += 1
        self._begin_current(now)

    def _begin_current(self, now: int) -> None:
        source, target = self._buffers()
        for number in self._steps[self._current]:
            config = self._configs[number]
            own = slice(config.first_element, config.first_element + config.elements)
            into = self._rows[number] if number in self._rows else target[config.filled]
            self._phases[number].start(self._iteration, source[own], into, now)
            self._acted.append(self._phases[number])

    def _is_over(self) -> bool:
        """Whether the current step has given what the next one needs."""
        last = self._current + 1 == len(self._steps)
        waits = not last and self._configs[self._steps[self._current + 1][0]].waits_for_acks
        phases = (self._phases[number] for number in self._steps[self._current])
        return all(phase.idle if waits else phase.whole for phase in phases)

    def _buffers(self) -> tuple[Vector, Vector]:
        """What the current step reads and fills, each as long as the gradient."""
        first = self._configs[self._steps[self._current][0]]
        if first.collective.kind == _SWAPPING:
            return self._given, self._output
        if self._current > self._last_sum:
            return self._output, self._output
        if first.collective.kind == "ready":
            return self._held, self._held
        self._source = self._held
        if self._current == self._last_sum and (first.waits_for_acks or first.collective.kind not in _GIVING):
            self._held = self._output
        else:
            self._held = self._spare if self._source is self._partial else self._partial
        return self._source, self._held

    def _sum_what_was_collected(self) -> None:
        numbers = [
            number for number in self._steps[self._current] if self._kind(number) == "collect" and number in self._rows
        ]
        if not numbers:
            return
        config = self._configs[numbers[0]]
        own = slice(config.first_element, config.first_element + config.elements)
        vectors = [self._source[own], *(self._rows[number] for number in numbers)]
        self._held[own].view(np.uint8)[:] = fold(np.stack([each.view(np.uint8) for each in vectors]), self._arithmetic)


def _check(worker: WorkerConfig) -> None:
    for phase in worker.phases:
        if phase.collective.kind not in KINDS_OF_PHASES:
            raise ScenarioError(
                "no such phase",
                key="phases.collective.kind",
                found=phase.collective.kind,
                allowed=", ".join(KINDS_OF_PHASES),
            )
    arithmetic = worker.collective.arithmetic
    if (arithmetic.op, arithmetic.dtype) == ("sum", "int32sat"):
        raise ScenarioError(
            "partial sums would saturate early", key="job.dtype", found="int32sat", allowed="float32, int32"
        )
