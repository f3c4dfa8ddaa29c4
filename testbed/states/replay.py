"""A scenario in which the faults of a trace hit the same packets, for `tb run`.

The simulated world has times of its own, and a trace has none. So each fault gets a window of 1 ns around the moment at
which its packet passes, found by a run with the faults before it. How long a packet is held back is tried: less than a
timeout, or more than some. So is a worker whose first packets come later than a timeout: in a trace one worker may wait
for another without a fault. The first scenario that fails is the replay.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product

from switch_nodes.registry import create_program
from testbed.checkers.context import CheckContext
from testbed.checkers.registry import judges_of, run_checks
from testbed.faults.base import Fault, Window
from testbed.faults.model import Delay, Drop, Duplicate, Reorder
from testbed.history import Record, sort_history
from testbed.history.verdict import Verdict
from testbed.plan import Plan, make_plan
from testbed.scenario import Scenario
from testbed.states.search import COPY, DELIVER, HOLD, LOSE
from testbed.states.trace import Moment
from testbed.worlds.simulated import make_worker, simulate
from testbed.worlds.simulated.world import ProgramFactory, WorkerFactory
from topologies import DIRECTIONS, Direction
from workloads.machine import Buffer, FrameBatch

__all__ = ["Replay", "replay_of"]

_TIMERS = ("timeout_code", "rto_ns", "rto_low_ns", "rto_high_ns")
_HOLDS = (0.01, 0.1, 0.6, 1.4, 2.4, 4.4)
"""how long packets are held back, in timeouts"""
_LATE = 1.4
"""delay of a worker's first packets, in timeouts"""
_TIMEOUTS = 60
"""length of a replay"""
_MOST_TRIES = 64
_NAMES = {LOSE: "loss", COPY: "copy", HOLD: "hold"}


@dataclass(frozen=True, slots=True)
class Replay:
    scenario: Scenario
    fails: str
    """the check that fails in the simulated world; empty: none does at the times that were tried"""


@dataclass(frozen=True, slots=True)
class _Hit:
    """Which packet a fault hits: the `number`-th (from 1) with these bytes that passes."""

    kind: int
    link: str
    direction: Direction
    frame: bytes
    number: int


def replay_of(
    scenario: Scenario,
    trace: Sequence[Moment],
    create: ProgramFactory = create_program,
    employ: WorkerFactory = make_worker,
) -> Replay | None:
    """None: no run comes to the packets that the faults hit."""
    plan = make_plan(scenario)
    fixed = _with_timers(scenario, plan)
    timeout_ns = fixed.transport.rto_ns or _of_code(fixed)
    fixed = replace(fixed, time_limit_ns=min(fixed.time_limit_ns, _TIMEOUTS * timeout_ns))
    hits, first = _hits(trace), None
    held = [hit.kind in (HOLD, COPY) for hit in hits]
    for late in (None, *(worker.name for worker in plan.workers)):
        begun = fixed if late is None else replace(fixed, faults=(_late(fixed, late, timeout_ns),))
        for tried in _holds(held, timeout_ns):
            placed = _placed(begun, hits, tried, create, employ)
            if placed is None:
                continue
            fails = _failing(placed, create, employ)
            if fails:
                return Replay(placed, fails)
            first = first or placed
    return None if first is None else Replay(first, "")


def _late(scenario: Scenario, worker: str, timeout_ns: int) -> Fault:
    """What the worker sends first comes later than a timeout."""
    _, link, entering = next(iter(scenario.topology.ports(worker)))
    leaving = next(each for each in DIRECTIONS if each is not entering)
    window = Window(0, timeout_ns // 2)
    return Delay(f"late-{worker}", (link.name,), (leaving,), window, delay_ns=int(_LATE * timeout_ns))


def _of_code(scenario: Scenario) -> int:
    """Timeout of an RC queue pair, in ns: 4.096 us * 2^code (IBTA 9.7.6.1.3)."""
    return 4096 << (scenario.transport.timeout_code or 0)


def _with_timers(scenario: Scenario, plan: Plan) -> Scenario:
    """Numbers for the timers that are `auto`: with faults, others might be chosen."""
    chosen = plan.scenario.transport
    fixed = {
        key: getattr(chosen, key)
        for key in _TIMERS
        if getattr(scenario.transport, key) is None and getattr(chosen, key) is not None
    }
    return replace(scenario, transport=replace(scenario.transport, **fixed))


def _hits(trace: Sequence[Moment]) -> list[_Hit]:
    passed: dict[tuple[str, str, bytes], int] = {}
    hits = []
    for moment in trace:
        key = moment.link, moment.direction, moment.frame
        if moment.is_fault:
            hits.append(
                _Hit(moment.kind, moment.link, Direction(moment.direction), moment.frame, passed.get(key, 0) + 1)
            )
        if moment.kind in (DELIVER, LOSE, HOLD):
            passed[key] = passed.get(key, 0) + 1
    return hits


def _holds(held: Sequence[bool], timeout_ns: int) -> Iterator[list[int]]:
    """How long each fault holds its packet back."""
    choices = [[int(share * timeout_ns) for share in _HOLDS] if each else [0] for each in held]
    for number, tried in enumerate(product(*choices)):
        if number < _MOST_TRIES:
            yield list(tried)


def _placed(
    scenario: Scenario, hits: Sequence[_Hit], holds: Sequence[int], create: ProgramFactory, employ: WorkerFactory
) -> Scenario | None:
    """The scenario with each fault at the time of its packet."""
    faults: list[Fault] = list(scenario.faults)
    moments: list[tuple[_Hit, int, int]] = []
    for number, (hit, hold_ns) in enumerate(zip(hits, holds, strict=True)):
        run = replace(scenario, faults=tuple(faults))
        at = _time_of(run, hit, moments, create, employ)
        if at is None:
            return None
        moments.append((hit, at, hold_ns))
        faults.append(_fault(hit, f"{_NAMES[hit.kind]}-{number + 1}", at, hold_ns))
    return replace(scenario, faults=tuple(faults))


def _fault(hit: _Hit, name: str, at: int, hold_ns: int) -> Fault:
    links, directions, window = (hit.link,), (hit.direction,), Window(at, at + 1)
    if hit.kind == LOSE:
        return Drop(name, links, directions, window)
    if hit.kind == COPY:
        return Duplicate(name, links, directions, window, delay_ns=hold_ns)
    return Reorder(name, links, directions, window, delay_ns=hold_ns)


def _time_of(
    scenario: Scenario,
    hit: _Hit,
    before: Sequence[tuple[_Hit, int, int]],
    create: ProgramFactory,
    employ: WorkerFactory,
) -> int | None:
    """When the packet comes to the filter of its link; None: it does not."""
    plan = make_plan(scenario)
    seen: list[int] = []
    taps = {switch.name: _Listener(plan, switch.name, hit, seen) for switch in plan.switches}
    simulate(plan, taps, create, employ)
    if any(tap.sees_behind for tap in taps.values()):
        for other, at, hold_ns in before:
            if (other.link, other.direction, other.frame) != (hit.link, hit.direction, hit.frame):
                continue
            later = min((time for time in seen if time >= at + hold_ns), default=None)
            if other.kind in (HOLD, COPY) and later is not None:
                seen.remove(later)
            if other.kind == HOLD:
                seen.append(at)
    seen.sort()
    return seen[hit.number - 1] if len(seen) >= hit.number else None


class _Listener:
    """A tap that notes when a frame passes."""

    def __init__(self, plan: Plan, switch: str, hit: _Hit, seen: list[int]) -> None:
        self._frame, self._seen = hit.frame, seen
        self._port, self._outgoing = -1, False
        switches = {config.name for config in plan.switches}
        for port, link, entering in plan.scenario.topology.ports(switch):
            far = link.a if link.b == switch else link.b
            leaving = next(each for each in DIRECTIONS if each is not entering)
            if link.name != hit.link:
                continue
            if hit.direction is entering:
                self._port, self._outgoing = port, False
            elif hit.direction is leaving and far not in switches:
                self._port, self._outgoing = port, True
        self.sees_behind = self._port >= 0 and not self._outgoing
        """whether it sees frames behind the filter that acts on them"""

    def record(self, batch: FrameBatch, start: int, stop: int, now: int, outgoing: bool) -> None:
        for row in range(start, stop):
            self._note(int(batch.ports[row]), batch.row(row), now, outgoing)

    def record_frame(self, port: int, frame: Buffer, now: int, outgoing: bool) -> None:
        self._note(port, frame, now, outgoing)

    def dropped(self, port: int, frame: Buffer, now: int, outgoing: bool, reason: str) -> None:
        if not outgoing:
            self._note(port, frame, now, outgoing)

    def trimmed(self, port: int, frame: Buffer, now: int) -> None:
        """Nothing of it is new."""

    def close(self) -> None:
        """It keeps no file."""

    def _note(self, port: int, frame: Buffer, now: int, outgoing: bool) -> None:
        if port == self._port and outgoing == self._outgoing and bytes(frame) == self._frame:
            self._seen.append(now)


def _failing(scenario: Scenario, create: ProgramFactory, employ: WorkerFactory) -> str:
    """The first check that a run of the scenario fails; empty: none."""
    plan = make_plan(scenario)
    history: list[Record] = sort_history(simulate(plan, {}, create, employ))
    context = CheckContext(plan, history, ())
    results = run_checks(context, judges_of(context)).results
    return next((result.name for result in results if result.verdict is Verdict.FAIL), "")
