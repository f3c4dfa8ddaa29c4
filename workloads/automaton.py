"""Transition tables that answer every pair. A table lists what can happen among peers that keep to the protocol; a peer that does
not can bring a Machine to other pairs, and must not end it: such a packet is dropped, counted, and told as `unforeseen`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Generic, TypeVar

__all__ = ["UNFORESEEN", "Transitions"]

UNFORESEEN = "unforeseen"
"""the reason, and the counter, of a packet that was dropped because its pair of state and event is not in the table"""

_State = TypeVar("_State")
_Event = TypeVar("_Event")
_Step = TypeVar("_Step")


class Transitions(dict[tuple[_State, _Event], _Step], Generic[_State, _Event, _Step]):
    """(state, event) -> step. It holds, and lists, the pairs of the protocol; asked for another pair by `[...]`, it answers
    `drop(state)`: a step that stays in the state and drops the packet."""

    def __init__(self, steps: Mapping[tuple[_State, _Event], _Step], drop: Callable[[_State], _Step]) -> None:
        super().__init__(steps)
        self._drop = drop

    def __missing__(self, pair: tuple[_State, _Event]) -> _Step:
        return self._drop(pair[0])
