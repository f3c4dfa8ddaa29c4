"""Collectives of several phases over machines of several workers: parallel NetReduce (PN) and Tencent's all-reduce
(TA).

| | first, inside the machine | then, between machines | last, inside the machine |
|---|---|---|---|
| parallel_netreduce | reduce_scatter: worker i has the sum of piece i + 1 | netreduce of that piece among the workers i | all_gather |
| tencent | chain_reduce to the master | ring of the masters | chain_broadcast |

The scheme and its names are the NetReduce paper's (ASPLOS'23, p. 7-8); cut and order of the pieces, and that the reduce
and the broadcast of TA are chains, are decided here (`docs/hierarchical.md`).

Rules of this file
- A phase begins when the worker has all that the one before gives it. Peers may be further or less far: a phase takes
  what comes before its time, as a collective does between iterations.
- What a phase inside sums goes to a buffer of its own, which nobody writes to until the iteration is over: what is on
  its way to other machines must stay as it is until it is acknowledged, also when results come back.
- An iteration is over when all phases are, with all their messages acknowledged.
"""  # noqa: E501

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from workloads.collectives.base import Phase, Teller
from workloads.collectives.netreduce import NetReduceCollective
from workloads.collectives.ring import RingCollective
from workloads.collectives.slots import Verbs
from workloads.config import CollectiveConfig, PhaseConfig, WorkerConfig
from workloads.errors import ScenarioError
from workloads.gradients import Vector
from workloads.rc import ReceiveCompleted, SendCompleted

__all__ = ["INWARD", "PhasedCollective"]

INWARD, _OUTWARD = ("reduce_scatter", "chain_reduce", "exchange"), ("all_gather", "chain_broadcast")
_KINDS: Mapping[str, Callable[[WorkerConfig, Verbs, int, int], Phase]] = {
    "netreduce": NetReduceCollective,
    "ring": RingCollective,
    **dict.fromkeys((*INWARD, *_OUTWARD), RingCollective),
}


class PhasedCollective(Teller):
    """Raises ScenarioError for a worker without phases, for a phase that is none, and for an arithmetic whose partial
    results lose what the sum needs."""

    def __init__(self, worker: WorkerConfig, endpoint: Verbs, elements: int, iterations: int) -> None:
        super().__init__(iterations)
        _check(worker.collective, worker.phases)
        self._configs, self._phases = worker.phases, list[Phase]()
        self._by_qpn: dict[int, Phase] = {}
        for part in worker.parts:
            phase = _KINDS[part.collective.kind](part, endpoint, part.workload.elements, iterations)
            self._phases.append(phase)
            self._by_qpn[part.to_successor.qpn] = self._by_qpn[part.from_predecessor.qpn] = phase
        self._partial: Vector = np.zeros(elements, "<u4")
        self._input: Vector = self._partial
        self._output: Vector = self._partial
        self._reduced = False
        """the current iteration's partial sums are in `_partial`"""
        self._current = len(self._phases)
        self._over = True

    @property
    def idle(self) -> bool:
        return self._over and self._digest_at is None and all(phase.idle for phase in self._phases)

    def open(self, now: int) -> None:
        for phase in self._phases:
            phase.open(now)

    def start(self, iteration: int, gradient: Vector, result: Vector, now: int) -> None:
        self._begin(iteration, gradient, result, sum(phase.messages for phase in self._phases))
        self._input, self._output = gradient, result
        self._reduced = self._over = False
        self._current = -1
        self._begin_next(now)
        self._go_on(now)

    def on_sent(self, completion: SendCompleted, now: int) -> None:
        self._by_qpn[completion.qpn].on_sent(completion, now)
        self._go_on(now)

    def on_received(self, completion: ReceiveCompleted, now: int) -> None:
        self._by_qpn[completion.qpn].on_received(completion, now)
        self._go_on(now)

    def get_timer(self) -> int | None:
        timers = [phase.get_timer() for phase in self._phases]
        return min((timer for timer in (*timers, self._digest_at) if timer is not None), default=None)

    def handle_timer(self, now: int) -> None:
        for phase in self._phases:
            phase.handle_timer(now)
        super().handle_timer(now)
        self._go_on(now)

    def _go_on(self, now: int) -> None:
        """Tell what the phases tell, and begin those whose time has come."""
        while True:
            for phase in self._phases:
                while (event := phase.next_event()) is not None:
                    self._events.append(event)
                self.problem = self.problem or phase.problem
            if self._over or self.problem is not None or not self._is_over():
                return
            if self._current + 1 < len(self._phases):
                self._begin_next(now)
            else:
                self._over = True
                self._complete(now)

    def _begin_next(self, now: int) -> None:
        self._current += 1
        self._begin_current(now)

    def _begin_current(self, now: int) -> None:
        config, phase = self._configs[self._current], self._phases[self._current]
        own = slice(config.first_element, config.first_element + config.elements)
        source, target = self._buffers(config.collective.kind)
        phase.start(self._iteration, source[own], target[own], now)

    def _is_over(self) -> bool:
        """Whether the current phase has given what the next one needs."""
        return self._phases[self._current].whole

    def _buffers(self, kind: str) -> tuple[Vector, Vector]:
        """What the current phase reads and fills, each as long as the gradient."""
        if kind in INWARD:
            self._reduced = True
            return self._input, self._partial
        if kind in _OUTWARD:
            return self._output, self._output
        return self._partial if self._reduced else self._input, self._output


def _check(whole: CollectiveConfig, phases: tuple[PhaseConfig, ...]) -> None:
    if not phases:
        raise ScenarioError(
            f"collective {whole.kind} has phases, and the worker is told none", key="phases", found="none",
            allowed="the phases of a plan over machines",
        )  # fmt: skip
    for phase in phases:
        if phase.collective.kind not in _KINDS:
            raise ScenarioError(
                "no such phase", key="phases.collective.kind", found=phase.collective.kind, allowed=", ".join(_KINDS)
            )
    if (whole.arithmetic.op, whole.arithmetic.dtype) == ("sum", "int32sat"):
        raise ScenarioError(
            "partial sums would saturate early", key="job.dtype", found="int32sat", allowed="float32, int32"
        )
