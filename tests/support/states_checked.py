"""A station that holds the table of forgotten attributes to its promise: states that it takes for equal take the same
steps."""

from __future__ import annotations

from typing import Any

from testbed.states.memento import Memento, keep, put_back
from testbed.states.station import NodeStates, NodeStep

__all__ = ["CheckedStation"]

_MOST = 3
"""other ways to a state that are kept"""


class CheckedStation(NodeStates):
    """Runs each step of a state also from other ways to this state, and compares."""

    def __init__(self, *args: Any, **named: Any) -> None:
        self._others: dict[int, list[tuple[tuple[Memento, int], ...]]] = {}
        self._inputs: dict[int, list[tuple[int, bytes, NodeStep]]] = {}
        self._is_comparing = False
        self.compared = 0
        self.differences: list[str] = []
        super().__init__(*args, **named)

    def _number(self) -> int:
        before = self.states
        number = super()._number()
        others = self._others.setdefault(number, [])
        if number < before and not self._is_comparing and len(others) < _MOST:
            others.append(tuple((keep(life.machine), life.now) for life in self._lives))
            for port, frame, step in self._inputs.get(number, []):
                self._compare(number, others[-1], port, frame, step)
        return number

    def _run(self, state: int, port: int, frame: bytes) -> NodeStep:
        step = super()._run(state, port, frame)
        if not self._is_comparing:
            self._inputs.setdefault(state, []).append((port, frame, step))
            for other in self._others.get(state, []):
                self._compare(state, other, port, frame, step)
        return step

    def _compare(self, state: int, other: Any, port: int, frame: bytes, step: NodeStep) -> None:
        kept = self._mementos[state]
        here = tuple((keep(life.machine), life.now) for life in self._lives)
        self._is_comparing, self._mementos[state] = True, other
        try:
            again = self._run(state, port, frame)
        finally:
            self._is_comparing, self._mementos[state] = False, kept
            for life, (memento, now) in zip(self._lives, here, strict=True):
                put_back(memento)
                life.now = now
        self.compared += 1
        if (again.after, again.frames) != (step.after, step.frames):
            self.differences.append(f"{self.name} in state {state}, port {port}: {again.after} instead of {step.after}")
