"""One rank's part of a trace: a step begins when all is over that it waits for.

Rules of this file
- Computing takes its time. Computing of one lane follows one another, in the order in which it became ready.
- A collective begins on a rank when its step does; it ends there when the rank has its result. A send ends when its
  message is acknowledged.
- Receives are posted from the start of the iteration. A message that comes before its step waits in its own part of
  the result, so no send waits for a receive. A receive takes the first message that came and fits.
- Every communication has connections of its own. So any number of them run side by side, and none overtakes another on
  one connection.
- Sums that have a turn belong to another worker of the rank (`workloads.traces.sums`), which makes them in that order.
- When all messages of a communication are acknowledged, the rank sets what it does not keep to 0.
- An iteration is over when all steps are, with all messages acknowledged.
"""

from __future__ import annotations

from collections import defaultdict, deque
from dataclasses import replace
from heapq import heappop, heappush

import numpy as np

from workloads.collectives.base import Phase, Teller
from workloads.collectives.phased import PhasedCollective, ring_of_phase
from workloads.config import ELEMENT_BYTES, WorkerConfig
from workloads.events import PhaseCompleted, PhaseStarted
from workloads.gradients import Vector
from workloads.rc import ReceiveCompleted, SendCompleted
from workloads.traces.events import TraceNodeEnded
from workloads.traces.matching import fits
from workloads.traces.model import COMPUTE, RECV, SEND
from workloads.traces.program import Communication, TracedConfig
from workloads.traces.sums import SumsInTurn
from workloads.transports.endpoint import Verbs

__all__ = ["TracedCollective"]


class _Scheduled(PhasedCollective):
    """A schedule of several phases as one communication: it reports phases, and computes no digest."""

    def __init__(self, worker: WorkerConfig, endpoint: Verbs, elements: int, iterations: int) -> None:
        super().__init__(worker, endpoint, elements, iterations)
        self._name = worker.collective.phase

    @property
    def whole(self) -> bool:
        return self._over

    @property
    def messages(self) -> int:
        return sum(phase.messages for phase in self._phases)

    def _begin(self, iteration: int, gradient: Vector, result: Vector, messages: int) -> None:
        super()._begin(iteration, gradient, result, messages)
        self._events[-1] = PhaseStarted(iteration, self._name, len(gradient) * ELEMENT_BYTES, messages)

    def _complete(self, now: int) -> None:
        self._events.append(PhaseCompleted(self._iteration, self._name))


class TracedCollective(Teller):
    """Raises ScenarioError as the collectives of its communications do."""

    def __init__(self, worker: TracedConfig, endpoint: Verbs, elements: int, iterations: int) -> None:
        super().__init__(worker, iterations)
        self._steps, self._communications = worker.steps, worker.communications
        self._collectives = [_make(worker, each, endpoint, iterations) for each in worker.communications]
        self._by_qpn: dict[int, int] = {}
        for number, each in enumerate(worker.communications):
            for phase in worker.phases[each.first_phase : each.first_phase + each.phases]:
                self._by_qpn[phase.to_successor.qpn] = self._by_qpn[phase.from_predecessor.qpn] = number
        self._step_of = {step.communication: place for place, step in enumerate(worker.steps)}
        self._behind: list[list[int]] = [[] for _ in worker.steps]
        self._behind_start: list[list[int]] = [[] for _ in worker.steps]
        for place, step in enumerate(worker.steps):
            for other in step.after:
                self._behind[other].append(place)
            for other in step.after_start:
                self._behind_start[other].append(place)
        late = worker.collective.receive_late_ns
        self._late = list(range(len(self._collectives))) if late else []
        """communications that have timers"""
        self._needs: list[int] = []
        """by step: how many it still waits for"""
        self._began: list[int] = []
        self._left = 0
        """steps that are not over"""
        self._ready = deque[int]()
        self._computing: list[tuple[int, int]] = []
        """a heap of (end, step)"""
        self._lanes: dict[int, deque[int]] = defaultdict(deque)
        """by lane: steps that wait, that which runs first"""
        self._running = set[int]()
        """communications without their result"""
        self._busy = set[int]()
        """communications with messages that may not be acknowledged"""
        self._came: list[int] = []
        """messages that no receive took, by communication"""
        self._asked: list[int] = []
        """receives without a message"""
        self._acted: list[int] = []
        self._given: Vector = np.zeros(0, "<u4")
        self._held: Vector = np.zeros(0, "<u4")
        self._sums: SumsInTurn | None = None
        self._over = True

    @property
    def idle(self) -> bool:
        return self._over and self._digest_at is None

    def hand_sums_to(self, sums: SumsInTurn) -> None:
        """As HandsOver."""
        self._sums = sums

    def open(self, now: int) -> None:
        for collective in self._collectives:
            if collective is not None:
                collective.open(now)

    def start(self, iteration: int, gradient: Vector, result: Vector, now: int) -> None:
        self._begin(iteration, gradient, result, sum(each.messages for each in self._collectives if each is not None))
        self._given, self._held = gradient, result
        self._needs = [len(step.after) + len(step.after_start) for step in self._steps]
        self._began = [now] * len(self._steps)
        self._left, self._over = len(self._steps), False
        for number, each in enumerate(self._communications):
            if each.operation == RECV:
                self._start(number, now)
        self._ready.extend(place for place, count in enumerate(self._needs) if not count)
        self._go_on(now)

    def on_sent(self, completion: SendCompleted, now: int) -> None:
        number = self._by_qpn[completion.qpn]
        self._collective(number).on_sent(completion, now)
        self._acted.append(number)
        self._go_on(now)

    def on_received(self, completion: ReceiveCompleted, now: int) -> None:
        number = self._by_qpn[completion.qpn]
        self._collective(number).on_received(completion, now)
        self._acted.append(number)
        self._go_on(now)

    def get_timer(self) -> int | None:
        timers = [self._digest_at, self._computing[0][0] if self._computing else None]
        timers += [self._collective(number).get_timer() for number in self._late]
        return min((timer for timer in timers if timer is not None), default=None)

    def handle_timer(self, now: int) -> None:
        for number in self._late:
            self._collective(number).handle_timer(now)
        self._acted += self._late
        super().handle_timer(now)
        self._go_on(now)

    def _collective(self, number: int) -> Phase:
        found = self._collectives[number]
        assert found is not None  # one of a single rank has no connections
        return found

    def _go_on(self, now: int) -> None:
        """Begin the steps whose time has come, and report what became of the others."""
        self._compute(now)
        self._take_sums(now)
        while self._ready or self._acted:
            while self._ready:
                self._begin_step(self._ready.popleft(), now)
                self._compute(now)
            acted, self._acted = self._acted, []
            for number in acted:
                self._look(number, now)
        if not self._over and not self._left and not self._busy and self.problem is None:
            self._over = True
            self._complete(now)

    def _begin_step(self, place: int, now: int) -> None:
        step = self._steps[place]
        if step.kind == COMPUTE and step.lane >= 0:
            self._lanes[step.lane].append(place)
            if self._lanes[step.lane][0] != place:
                return
        self._run_step(place, now)

    def _run_step(self, place: int, now: int) -> None:
        step = self._steps[place]
        self._began[place] = now
        self._release(self._behind_start[place])
        if step.kind == COMPUTE:
            heappush(self._computing, (now + step.compute_ns, place))
        elif step.kind == RECV:
            self._ask(place, now)
        elif self._sums is not None and self._communications[step.communication].turn >= 0:
            given, held = self._parts(self._communications[step.communication])
            self._sums.begin(self._iteration, step.communication, given, held)
        elif self._collectives[step.communication] is None:
            self._alone(step.communication)
            self._end_step(place, now, step.communication)
        else:
            self._start(step.communication, now)

    def _compute(self, now: int) -> None:
        """What was computed until now is over; the next of its lane runs."""
        while self._computing and self._computing[0][0] <= now:
            _, place = heappop(self._computing)
            self._end_step(place, now)
            lane = self._steps[place].lane
            if lane >= 0:
                self._lanes[lane].popleft()
                if self._lanes[lane]:
                    self._run_step(self._lanes[lane][0], now)

    def _take_sums(self, now: int) -> None:
        while self._sums is not None and self._sums.over:
            number = self._sums.over.popleft()
            self._clear(self._communications[number])
            self._end_step(self._step_of[number], now, number)

    def _parts(self, each: Communication) -> tuple[Vector, Vector]:
        """What the rank gives, and what it holds."""
        given = self._given[each.gives_first : each.gives_first + each.gives]
        return given, self._held[each.holds_first : each.holds_first + each.holds]

    def _start(self, number: int, now: int) -> None:
        each = self._communications[number]
        given, held = self._parts(each)
        if each.operation == SEND:
            held = given
        elif each.operation == RECV:
            given = held
        self._running.add(number)
        self._busy.add(number)
        self._collective(number).start(self._iteration, given, held, now)
        self._acted.append(number)

    def _alone(self, number: int) -> None:
        """A collective of one rank: its vector is the result."""
        given, held = self._parts(self._communications[number])
        held[:] = given

    def _look(self, number: int, now: int) -> None:
        """A communication may have got further."""
        collective, each = self._collective(number), self._communications[number]
        while (event := collective.next_event()) is not None:
            self._events.append(event)
        self.problem = self.problem or collective.problem
        if self.problem is not None:
            return
        if number in self._running and (collective.idle if each.operation == SEND else collective.whole):
            self._running.remove(number)
            if each.operation == RECV:
                self._arrive(number, now)
            else:
                self._end_step(self._step_of[number], now, number)
        if number in self._busy and collective.idle:
            self._busy.remove(number)
            self._clear(each)

    def _clear(self, each: Communication) -> None:
        """What the rank does not keep, and nothing sends any more."""
        behind = each.kept_first + each.kept
        self._held[each.holds_first : each.holds_first + each.kept_first] = 0
        self._held[each.holds_first + behind : each.holds_first + each.holds] = 0

    def _arrive(self, number: int, now: int) -> None:
        message = self._communications[number]
        for place in self._asked:
            if fits(self._steps[place].source, self._steps[place].tag, message.source, message.tag):
                self._asked.remove(place)
                self._end_step(place, now, number)
                return
        self._came.append(number)

    def _ask(self, place: int, now: int) -> None:
        step = self._steps[place]
        for number in self._came:
            message = self._communications[number]
            if fits(step.source, step.tag, message.source, message.tag):
                self._came.remove(number)
                self._end_step(place, now, number)
                return
        self._asked.append(place)

    def _end_step(self, place: int, now: int, communication: int = -1) -> None:
        step, took = self._steps[place], now - self._began[place]
        if took or step.kind != COMPUTE:
            size = 0
            if communication >= 0:
                each = self._communications[communication]
                size = max(each.gives, each.holds) * ELEMENT_BYTES
            self._events.append(
                TraceNodeEnded(self._iteration, step.node, step.name, step.kind, place, took, size, communication)
            )
        self._left -= 1
        self._release(self._behind[place])

    def _release(self, places: list[int]) -> None:
        for place in places:
            self._needs[place] -= 1
            if not self._needs[place]:
                self._ready.append(place)


def _make(worker: TracedConfig, each: Communication, endpoint: Verbs, iterations: int) -> Phase | None:
    """None: it has no connections."""
    if not each.phases:
        return None
    phases = worker.phases[each.first_phase : each.first_phase + each.phases]
    first = phases[0]
    name = first.collective.phase if each.simple else f"{each.operation}_{each.first_phase}"
    part = WorkerConfig(
        worker.name,
        first.to_successor,
        first.from_predecessor,
        first.collective
        if each.simple
        else replace(worker.collective, rank=each.rank, size=each.size, phase=name, kept=None),
        replace(worker.workload, elements=first.elements if each.simple else each.gives),
        phases=() if each.simple else phases,
    )
    if each.simple:
        return ring_of_phase(first.collective.kind)(part, endpoint, first.elements, iterations)
    return _Scheduled(part, endpoint, each.gives, iterations)
