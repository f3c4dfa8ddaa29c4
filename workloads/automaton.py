"""Transition tables that answer every pair. A table lists what can happen among peers that follow the protocol. A peer
that breaks it can bring a Machine to other pairs, and must not end it. Such a packet is dropped, counted, and reported
as `unforeseen`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from functools import cache
from typing import Any, Generic, TypeVar

__all__ = ["UNFORESEEN", "Automaton", "Named", "Transitions", "step_names", "words"]

UNFORESEEN = "unforeseen"
"""the reason, and the counter, of a packet that was dropped because its pair of state and event is not in the table"""

_State = TypeVar("_State")
_Event = TypeVar("_Event")
_Step = TypeVar("_Step")


class Named(Enum):
    """States, events and actions of tables. They hash as they compare: by identity, which costs no call."""

    __hash__ = object.__hash__


class Transitions(dict[tuple[_State, _Event], _Step], Generic[_State, _Event, _Step]):
    """(state, event) -> step. It holds, and lists, the pairs of the protocol. For any other pair `table[pair]` returns
    `drop(state)`: a step that stays in the state and drops the packet."""

    def __init__(self, steps: Mapping[tuple[_State, _Event], _Step], drop: Callable[[_State], _Step]) -> None:
        super().__init__(steps)
        self._drop = drop

    def __missing__(self, pair: tuple[_State, _Event]) -> _Step:
        return self._drop(pair[0])


_Named = TypeVar("_Named", bound=Enum)
_Cause = TypeVar("_Cause", bound=Enum)
_Action = TypeVar("_Action", bound=Enum)


def words(*named: Enum) -> tuple[str, ...]:
    """Names of states, events and actions in traces and coverage."""
    return tuple([item._name_.lower() for item in named])


def step_names(automaton: str, pairs: Iterable[tuple[Enum, Enum]]) -> tuple[str, ...]:
    """Names of the pairs (state, event), each once: `slot open/new`."""
    return tuple(dict.fromkeys(f"{automaton} {'/'.join(words(*pair))}" for pair in pairs))


def number_of(named: Enum) -> int:
    """Number of a member in its enumeration, from 0, as in compiled code."""
    return _numbers(type(named))[named]


@cache
def _numbers(names: type[Enum]) -> Mapping[Enum, int]:
    return {named: number for number, named in enumerate(names)}


class Automaton(Transitions[_Named, _Cause, tuple[_Named, _Action]], Generic[_Named, _Cause, _Action]):
    """A table (state, event) -> (next state, action). A program's behaviour, its diagram, the steps in coverage, and
    the reasons for drops all come from it. The state of the first pair is the start state.
    """

    def __init__(
        self,
        name: str,
        steps: Mapping[tuple[_Named, _Cause], tuple[_Named, _Action]],
        unforeseen: _Action,
        reasons: Mapping[Any, str],
    ) -> None:
        """`unforeseen`: the action for a packet of a pair that is not in the table. `reasons`: why actions keep a
        packet out of the sums. Reasons for actions that this table does not have are ignored."""
        super().__init__(steps, lambda state: (state, unforeseen))
        self.name = name
        self._numbers: dict[tuple[type[Enum], type[Enum]], tuple[list[int], list[int]]] = {}
        actions = {action for _, action in steps.values()}
        self.reasons: Mapping[_Action, str] = {
            **{action: reason for action, reason in reasons.items() if action in actions}, unforeseen: UNFORESEEN,
        }  # fmt: skip

    @property
    def steps(self) -> tuple[str, ...]:
        """Names of the steps, as in coverage."""
        return step_names(self.name, self)

    def numbered(self, state: type[Enum], cause: type[Enum]) -> tuple[list[int], list[int]]:
        """Next states and actions as numbers, at number of the state * causes + number of the cause."""
        numbers = self._numbers.get((state, cause))
        if numbers is None:
            found = [self[before, event] for before in state for event in cause]  # type: ignore[index]
            numbers = [number_of(after) for after, _ in found], [number_of(action) for _, action in found]
            self._numbers[state, cause] = numbers
        return numbers[0].copy(), numbers[1].copy()

    def diagram(self) -> str:
        """For Mermaid. Events that go the same way with the same action share a line. A note has the events that stay
        in the state with one action, in every state: a line for each state would hide the others."""
        edges: dict[tuple[str, str, str], list[str]] = {}
        common = self._everywhere()
        for (before, cause), (after, action) in self.items():
            if cause not in common:
                edges.setdefault((before.name, after.name, action.name), []).append(cause.name)
        first, _ = next(iter(self))
        lines = ["stateDiagram-v2", f"    [*] --> {first.name}"]
        lines += [
            f"    {source} --> {target}: {', '.join(causes)} / {done}"
            for (source, target, done), causes in edges.items()
        ]
        if common:
            shared: dict[str, list[str]] = {}
            for cause, action in common.items():
                shared.setdefault(action.name, []).append(cause.name)
            lines += [f"    note left of {first.name}", "        In every state, and the state stays:"]
            lines += [f"        {', '.join(causes)} / {done}" for done, causes in shared.items()]
            lines += ["    end note"]
        return "\n".join(lines) + "\n"

    def _everywhere(self) -> dict[_Cause, _Action]:
        """Event -> action, of the events that the table has in all of its two or more states with one action, and
        that change no state."""
        states = {before for before, _ in self} | {after for after, _ in self.values()}
        steps: dict[_Cause, list[tuple[_Named, _Named, _Action]]] = {}
        for (before, cause), (after, action) in self.items():
            steps.setdefault(cause, []).append((before, after, action))
        return {
            cause: found[0][2]
            for cause, found in steps.items()
            if len(found) == len(states) > 1
            and all(before is after and action is found[0][2] for before, after, action in found)
        }
