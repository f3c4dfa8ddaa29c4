"""One node of the network: its states by number, and what each step leads to. Every step of a state runs once.

Time is relative. A node runs twice, with clocks that differ by a constant. What differs by that constant is a time.
States are compared by the order of their times. The clock of a node jumps to the earliest deadline when a timer
expires. It goes on a little with each frame that the node receives or sends, but never as far as the next deadline.
Waits do not adapt to measured round trips (`Explored.pinned`). So timers of one kind expire in the order in which they
were set.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from testbed.states.forgotten import Forgotten
from testbed.states.memento import Memento, described, keep, put_back
from testbed.worlds.simulated.finishing import FinishingMachine
from workloads.errors import InternalError
from workloads.machine import Event

__all__ = ["EXPIRE", "Due", "NodeStates", "NodeStep"]

_ORIGIN, _APART = 1 << 40, 1 << 44
_TICK, _LEAST_TICK = 1 << 14, 4
"""ns between two frames of a node"""
_MOST_FRAMES = 10_000
"""frames of one step"""
EXPIRE = -1
"""the step in which the earliest timer expires, in place of a port"""


class Due:
    """When a timer of a state expires."""

    NEVER, LATER, NOW = range(3)


@dataclass(frozen=True, slots=True)
class NodeStep:
    """What one step of one node leads to."""

    after: int
    """number of the state"""
    frames: tuple[tuple[int, bytes], ...]
    """(port, frame), in the order in which they leave"""
    events: tuple[Event, ...]
    crash: str = ""
    """the exception that the Machine raised; nothing else of the step counts then"""


class _Life:
    """A Machine with a clock of its own."""

    def __init__(self, machine: FinishingMachine, now: int, pulls: bool) -> None:
        self.machine, self.now, self._pulls = machine, now, pulls

    def go_on(self) -> None:
        """A little time passes."""
        due = self.machine.get_timer()
        if due is None or due - self.now > 2 * _TICK:
            self.now += _TICK
        elif due > self.now:
            if due - self.now < _LEAST_TICK:
                raise InternalError("more frames between two deadlines than the clock can tell apart")
            self.now += (due - self.now) // 2

    def drained(self) -> tuple[list[tuple[int, bytes]], list[Event]]:
        """What leaves now, and what was reported."""
        frames: list[tuple[int, bytes]] = []
        events: list[Event] = []
        while True:
            while (event := self.machine.next_event()) is not None:
                events.append(event)
            if self._pulls:
                self.go_on()
            found = self._following()
            if not found:
                return frames, events
            frames += found
            if len(frames) > _MOST_FRAMES:
                raise InternalError("a Machine sends frames without an end")

    def _following(self) -> list[tuple[int, bytes]]:
        if not self._pulls:
            return [(port, bytes(frame)) for port, frame in self.machine.frames_to_send(self.now)]
        for port, frame in self.machine.frames_to_send(self.now):
            return [(port, bytes(frame))]
        return []


class NodeStates:
    """`make(now)`: the Machine of a node whose traffic starts then. `pulls`: a host, asked frame by frame."""

    def __init__(
        self, name: str, make: Callable[[int], FinishingMachine], forgotten: Forgotten, *, pulls: bool
    ) -> None:
        self.name, self._forgotten = name, forgotten
        self._lives = [_Life(make(now), now, pulls) for now in (_ORIGIN, _ORIGIN + _APART)]
        self._pins = [pin for life in self._lives for pin in _pins_in(life.machine, forgotten)]
        self._numbers: dict[tuple[Any, ...], int] = {}
        self._mementos: list[tuple[tuple[Memento, int], ...]] = []
        self._steps: dict[tuple[int, int, bytes], NodeStep] = {}
        self._endings: dict[int, tuple[Event, ...]] = {}
        self.due: list[int] = []
        """by state, a `Due`"""
        self.finished: list[bool] = []
        """by state: a worker that has all its results, or a node that is no worker"""
        self.runs = 0
        """steps that ran"""
        self.begin = self._step_from_here(-1)

    @property
    def states(self) -> int:
        return len(self._mementos)

    def receive(self, state: int, port: int, frame: bytes) -> NodeStep:
        """A frame comes in on a port."""
        return self._step(state, port, frame)

    def expire(self, state: int) -> NodeStep:
        """The earliest timer expires. There must be one."""
        return self._step(state, EXPIRE, b"")

    def ending(self, state: int) -> tuple[Event, ...]:
        """What the node reports at the end if it stops in that state."""
        found = self._endings.get(state)
        if found is None:
            life = self._resumed(state)[0]
            life.machine.finish(life.now)
            found = self._endings[state] = tuple(life.drained()[1])
        return found

    def machine_in(self, state: int) -> FinishingMachine:
        """The Machine in that state, to look at; the next step changes it."""
        return self._resumed(state)[0].machine

    def _step(self, state: int, port: int, frame: bytes) -> NodeStep:
        key = state, port, frame
        found = self._steps.get(key)
        if found is None:
            found = self._steps[key] = self._run(state, port, frame)
        return found

    def _run(self, state: int, port: int, frame: bytes) -> NodeStep:
        self.runs += 1
        try:
            self._take(state, port, frame)
            return self._step_from_here(state)
        except InternalError:
            raise
        except Exception as error:
            return NodeStep(state, (), (), f"{type(error).__name__}: {error}")

    def _take(self, state: int, port: int, frame: bytes) -> None:
        for life in self._resumed(state):
            if port == EXPIRE:
                due = life.machine.get_timer()
                assert due is not None, "a timer is armed"
                life.now = max(life.now, due)
                life.machine.handle_timer(life.now)
            else:
                life.go_on()
                life.machine.receive_frame(port, frame, life.now)

    def _step_from_here(self, state: int) -> NodeStep:
        for thing, name, value in self._pins:
            setattr(thing, name, value)
        (frames, events), (other_frames, _) = [life.drained() for life in self._lives]
        if frames != other_frames:
            raise InternalError(f"{self.name} sends other frames at another time of day, after state {state}")
        return NodeStep(self._number(), tuple(frames), tuple(events))

    def _resumed(self, state: int) -> Sequence[_Life]:
        for life, (memento, now) in zip(self._lives, self._mementos[state], strict=True):
            put_back(memento)
            life.now = now
        return self._lives

    def _number(self) -> int:
        """Of the state in which the Machines are."""
        due = [life.machine.get_timer() for life in self._lives]
        key = self._key()
        found = self._numbers.get(key)
        if found is not None:
            return found
        number = self._numbers[key] = len(self._mementos)
        self._mementos.append(tuple((keep(life.machine), life.now) for life in self._lives))
        life = self._lives[0]
        self.due.append(Due.NEVER if due[0] is None else Due.NOW if due[0] <= life.now else Due.LATER)
        self.finished.append(bool(getattr(life.machine, "finished", True)))
        return number

    def _key(self) -> tuple[Any, ...]:
        first, second = (described(life.machine, self._forgotten) for life in self._lives)
        times: dict[int, int] = {}
        places = []
        if len(first) != len(second):
            raise InternalError(f"the state of {self.name} depends on the time of day")
        for place, (one, other) in enumerate(zip(first, second, strict=True)):
            if one == other:
                continue
            if not isinstance(one, int) or other - one != _APART:
                raise InternalError(f"the state of {self.name} depends on the time of day: {one!r}, {other!r}")
            times[one] = 0
            places.append(place)
        now = self._lives[0].now
        for rank, time in enumerate(sorted(times.keys() | {now})):
            times[time] = rank
        for place in places:
            time = first[place]
            first[place] = "at", times[time]
        return (*first, ("now", times[now]))


def _pins_in(machine: FinishingMachine, forgotten: Forgotten) -> list[tuple[Any, str, int | None]]:
    """(object, attribute, value) of what stays as it is."""
    kept = [thing for thing, _ in keep(machine)]
    return [
        (thing, name, value)
        for (kind, name), value in forgotten.pinned.items()
        for thing in kept
        if kind in type(thing).__mro__
    ]
