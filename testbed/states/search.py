"""The exploration: every state of the network that can be reached, each once.

A state of the network is: a state of each node, the frames that wait on each channel, the frames that faults hold back,
and the number of faults so far. A step delivers the first frame of a channel to its receiver, or lets a timer expire.
A fault loses the first frame of a channel, holds it back, or makes a copy that is held back. What is held back may
arrive at any later moment.

Time: a timer whose moment has come may expire at any moment. Other timers expire only while no frame waits on any
channel (held ones do not count). So no timer is too short for the way of a frame that no fault touches.

Reduction: a node with one incoming channel does nothing until a frame or a timer comes, and all other nodes can only
put more frames behind the first one. So where such a channel holds a frame, the steps of this node alone are taken: the
steps of others come to the same states afterwards (a persistent set). `full` takes all steps everywhere.

Order: states with fewer faults first, then those with fewer steps. When all states with as many faults are known, those
from which no way leads to the end are looked for. So the first violation has the fewest faults.
"""

from __future__ import annotations

import struct
import time
from array import array
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from testbed.states.judge import DEADLOCK, LIVENESS, STUCK, Judge
from testbed.states.network import NetworkModel
from testbed.states.station import Due, NodeStep
from testbed.states.stuck import cannot_finish

__all__ = ["COPY", "DELIVER", "EXPIRES", "HOLD", "LATE", "LOSE", "Act", "Bounds", "Search", "Violation"]

DELIVER, LOSE, COPY, HOLD, LATE, EXPIRES = range(6)
_FAULTS = (LOSE, COPY, HOLD)
Act = tuple[int, int, int]
"""(kind, channel or node, frame or 0)"""
State = tuple[int, ...]
_LOOK_EVERY = 4096
"""states between two looks at the clock"""


@dataclass(frozen=True, slots=True)
class Bounds:
    faults: int
    most_states: int = 20_000_000
    seconds: float | None = None
    """real time; None: no limit"""
    full: bool = False
    """take all steps everywhere"""
    keep_going: bool = False
    """look for a violation of each check, not for the first one only"""


@dataclass(frozen=True, slots=True)
class Violation:
    check: str
    detail: str
    state: int
    """number of the state in which it was found, or before the step that breaks it"""
    last: Act | None
    """the step from there that breaks it"""
    faults: int
    steps: int


@dataclass(slots=True)
class Search:
    """Explore a network. After `run`, the fields say what was found."""

    network: NetworkModel
    judge: Judge
    bounds: Bounds
    tell: Callable[[int, int], None] = lambda states, faults: None
    """hears (states, faults) from time to time"""
    transitions: int = 0
    depth: int = 0
    ends: int = 0
    """states in which the job is done and nothing is under way"""
    seconds: float = 0.0
    limit: str = ""
    """what ended it early; empty: every state was visited"""
    violations: list[Violation] = field(default_factory=list)
    by_faults: list[int] = field(default_factory=list)
    """states by their number of faults"""
    _known: dict[bytes, int] = field(default_factory=dict)
    _keys: list[bytes] = field(default_factory=list)
    _parents: array[int] = field(default_factory=lambda: array("q"))
    _acts: list[Act] = field(default_factory=list)
    _known_acts: dict[Act, Act] = field(default_factory=dict)
    _depths: array[int] = field(default_factory=lambda: array("i"))
    _done: bytearray = field(default_factory=bytearray)
    _edges: tuple[array[int], array[int]] = field(default_factory=lambda: (array("I"), array("I")))
    _waits: list[list[list[int]]] = field(default_factory=list)
    _frames: list[bytes] = field(default_factory=list)
    _frame_numbers: dict[bytes, int] = field(default_factory=dict)
    _lines: list[tuple[int, ...]] = field(default_factory=lambda: [()])
    _line_numbers: dict[tuple[int, ...], int] = field(default_factory=lambda: {(): 0})
    _moves: dict[tuple[int, int, int], _Move] = field(default_factory=dict)
    _shape: struct.Struct = field(default_factory=lambda: struct.Struct("I"))
    _checks: set[str] = field(default_factory=set)

    @property
    def states(self) -> int:
        return len(self._known)

    @property
    def local_states(self) -> dict[str, int]:
        """States of each node."""
        return {station.name: station.states for station in self.network.stations}

    def run(self) -> None:
        began = time.monotonic()
        nodes, channels = len(self.network.stations), len(self.network.channels)
        self._shape = struct.Struct(f"<{nodes + 2 * channels + 1}I")
        self._waits = [[] for _ in range(self.bounds.faults + 1)]
        self.by_faults = [0] * (self.bounds.faults + 1)
        self._add(self._first(), -1, (EXPIRES, 0, 0), 0)
        looked = 0
        for faults, levels in enumerate(self._waits):
            depth = 0
            while depth < len(levels):
                for number in levels[depth]:
                    if self._depths[number] != depth:
                        continue  # it was reached sooner
                    self.depth = max(self.depth, depth)
                    self._expand(number, self._state(number), faults, depth)
                    looked += 1
                    if looked % _LOOK_EVERY == 0 and self._is_over(began, faults):
                        break
                    if self.violations and not self.bounds.keep_going:
                        break
                levels[depth] = []
                if self.limit or (self.violations and not self.bounds.keep_going):
                    break
                depth += 1
            if not self.limit and (not self.violations or self.bounds.keep_going):
                self._judge_liveness(faults)
            if self.limit or (self.violations and not self.bounds.keep_going):
                break
        self.seconds = time.monotonic() - began

    def path_to(self, violation: Violation) -> list[Act]:
        """The steps from the beginning to a violation."""
        acts = [] if violation.last is None else [violation.last]
        number = violation.state
        while self._parents[number] >= 0:
            acts.append(self._acts[number])
            number = self._parents[number]
        return acts[::-1]

    def frame(self, number: int) -> bytes:
        """By the number in an `Act`."""
        return self._frames[number]

    def _is_over(self, began: float, faults: int) -> bool:
        self.tell(self.states, faults)
        if self.bounds.seconds is not None and time.monotonic() - began > self.bounds.seconds:
            self.limit = f"{self.bounds.seconds:g} s"
        elif self.states >= self.bounds.most_states:
            self.limit = f"{self.bounds.most_states:,} states"
        return bool(self.limit)

    def _first(self) -> State:
        """Before anything happened; what a node sends by itself at once is under way."""
        locals_, lines = [], [0] * len(self.network.channels)
        for node, station in enumerate(self.network.stations):
            locals_.append(station.begin.after)
            for channel, frame in self._sent(node, station.begin):
                lines[channel] = self._line((*self._lines[lines[channel]], frame))
        return (*locals_, *lines, *([0] * len(lines)), 0)

    def _state(self, number: int) -> State:
        return self._shape.unpack(self._keys[number])

    def _add(self, state: State, parent: int, act: Act, depth: int) -> int:
        """The number of a state, which waits to be expanded if it is new."""
        key = self._shape.pack(*state)
        number = self._known.get(key)
        if number is not None:
            if depth < self._depths[number]:
                self._come_sooner(number, parent, act, depth, state[-1])
            return number
        number = self._known[key] = len(self._known)
        self._keys.append(key)
        self._parents.append(parent)
        self._acts.append(self._known_acts.setdefault(act, act))
        self._depths.append(depth)
        self._wait(number, depth, state[-1])
        self.by_faults[state[-1]] += 1
        finished = all(self.network.stations[node].finished[state[node]] for node in self.network.workers)
        self._done.append(finished)
        return number

    def _come_sooner(self, number: int, parent: int, act: Act, depth: int, faults: int) -> None:
        """A state that waits was reached in fewer steps than before."""
        self._parents[number], self._acts[number], self._depths[number] = parent, act, depth
        self._wait(number, depth, faults)

    def _wait(self, number: int, depth: int, faults: int) -> None:
        levels = self._waits[faults]
        while len(levels) <= depth:
            levels.append([])
        levels[depth].append(number)

    def _expand(self, number: int, state: State, faults: int, depth: int) -> None:
        leads_on = False
        for act in self._acts_in(state, faults, bool(self._done[number])):
            leads_on = True
            self.transitions += 1
            after = self._after(number, state, act, depth)
            if after is None:
                continue
            following = self._add(after, number, act, depth + 1)
            if act[0] not in _FAULTS:
                self._edges[0].append(number)
                self._edges[1].append(following)
        if leads_on:
            return
        if self._done[number]:
            self.ends += 1
            self._judge_end(number, state, depth)
        else:
            waits = [
                self.network.stations[node].name
                for node in self.network.workers
                if not self.network.stations[node].finished[state[node]]
            ]
            text = f"nothing can happen any more, and {', '.join(waits)} did not finish"
            self._break(DEADLOCK, text, number, None, state[-1], depth)

    def _acts_in(self, state: State, faults: int, done: bool) -> Iterator[Act]:
        stations, channels = self.network.stations, self.network.channels
        nodes = len(stations)
        lines = state[nodes : nodes + len(channels)]
        bags = state[nodes + len(channels) : -1]
        may_fault = faults < self.bounds.faults
        if not self.bounds.full:
            for number, channel in enumerate(channels):
                if lines[number] and channel.alone:
                    yield from self._on(number, lines[number], bags[number], may_fault)
                    if stations[channel.receiver].due[state[channel.receiver]] == Due.NOW:
                        yield EXPIRES, channel.receiver, 0
                    return
        for number in range(len(channels)):
            yield from self._on(number, lines[number], bags[number], may_fault)
        quiet = not any(lines)
        for node in range(nodes):
            due = stations[node].due[state[node]]
            if due == Due.NOW or (due == Due.LATER and quiet and not done):
                yield EXPIRES, node, 0

    def _on(self, channel: int, line: int, bag: int, may_fault: bool) -> Iterator[Act]:
        if line:
            frame = self._lines[line][0]
            yield DELIVER, channel, frame
            if may_fault:
                yield LOSE, channel, frame
                yield COPY, channel, frame
                yield HOLD, channel, frame
        if bag:
            for frame in sorted(set(self._lines[bag])):
                yield LATE, channel, frame

    def _after(self, number: int, state: State, act: Act, depth: int) -> State | None:
        """None: the step breaks a rule, and the search does not go on behind it."""
        kind, place, frame = act
        channels, nodes = len(self.network.channels), len(self.network.stations)
        after = list(state)
        if kind != EXPIRES:
            at, bag = nodes + place, nodes + channels + place
            if kind in (DELIVER, LOSE, HOLD):
                after[at] = self._line(self._lines[after[at]][1:])
            if kind in (COPY, HOLD):
                after[bag] = self._line(tuple(sorted((*self._lines[after[bag]], frame))))
            elif kind == LATE:
                rest = list(self._lines[after[bag]])
                rest.remove(frame)
                after[bag] = self._line(tuple(rest))
            if kind in _FAULTS:
                after[-1] += 1
                return tuple(after)
            node, move = self.network.channels[place].receiver, self._move(place, state, frame)
        else:
            node, move = place, self._move(-1 - place, state, 0)
        if move.problem is not None:
            self._break(*move.problem, number, act, state[-1], depth + 1)
            return None
        after[node] = move.after
        for channel, sent in move.frames:
            after[nodes + channel] = self._line((*self._lines[after[nodes + channel]], sent))
        return tuple(after)

    def _move(self, place: int, state: State, frame: int) -> _Move:
        """`place`: a channel; below 0: -1 - node, whose timer expires."""
        node = -1 - place if place < 0 else self.network.channels[place].receiver
        key = place, state[node], frame
        found = self._moves.get(key)
        if found is None:
            station = self.network.stations[node]
            if place < 0:
                step = station.expire(state[node])
            else:
                step = station.receive(state[node], self.network.channels[place].port, self._frames[frame])
            problem = self.judge.step(station.name, step)
            found = self._moves[key] = _Move(step.after, tuple(self._sent(node, step)), problem)
        return found

    def _sent(self, node: int, step: NodeStep) -> Iterator[tuple[int, int]]:
        for port, frame in step.frames:
            channel = self.network.leads.get((node, port))
            if channel is not None:
                number = self._frame_numbers.setdefault(frame, len(self._frames))
                if number == len(self._frames):
                    self._frames.append(frame)
                yield channel, number

    def _line(self, frames: tuple[int, ...]) -> int:
        number = self._line_numbers.setdefault(frames, len(self._lines))
        if number == len(self._lines):
            self._lines.append(frames)
        return number

    def _judge_end(self, number: int, state: State, depth: int) -> None:
        for node in self.network.switches:
            station = self.network.stations[node]
            problem = self.judge.end(station.name, station.ending(state[node]))
            if problem is not None:
                self._break(*problem, number, None, state[-1], depth)

    def _judge_liveness(self, faults: int) -> None:
        """From every state with that many faults, some way leads to the end without further faults: by states with as
        many. So the steps between them are of no use afterwards."""
        with_as_many = bytes(key[-4:] == faults.to_bytes(4, "little") for key in self._keys)
        stuck = cannot_finish(self._edges, self._done, with_as_many)
        self._edges = array("I"), array("I")
        broken = {violation.state for violation in self.violations}
        stuck = [number for number in stuck if number not in broken]
        if stuck and not {DEADLOCK, LIVENESS} & self._checks:
            first = min(stuck, key=self._depths.__getitem__)
            text = f"from here no way leads to the end of the job; {len(stuck):,} states are like this"
            self._break(STUCK, text, first, None, faults, self._depths[first])

    def _break(self, check: str, detail: str, state: int, last: Act | None, faults: int, steps: int) -> None:
        if check not in self._checks:
            self._checks.add(check)
            self.violations.append(Violation(check, detail, state, last, faults, steps))


@dataclass(frozen=True, slots=True)
class _Move:
    """A step of a node, as the search needs it."""

    after: int
    frames: tuple[tuple[int, int], ...]
    """(channel, frame), in order"""
    problem: tuple[str, str] | None
