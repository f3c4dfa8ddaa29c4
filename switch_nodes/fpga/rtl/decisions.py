"""The decisions of the NetReduce switch as logic, generated from its tables (`switch_nodes/netreduce/tables.py`).

States, events and actions are numbered as in their enumerations. Pairs that a table does not have give its action
UNFORESEEN, as `Automaton` does.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any

from amaranth.hdl import Cat, Module, Signal, Value

from switch_nodes.netreduce.tables import FRAME_TABLE, FrameAction, FrameKind
from workloads.automaton import Automaton, number_of

__all__ = ["code", "decide", "decide_frame", "signal_of"]


def code(named: Enum) -> int:
    """The number of a member in the hardware."""
    return number_of(named)


def signal_of(kind: type[Enum], name: str) -> Signal:
    """A signal that holds any member."""
    return Signal(range(max(len(kind), 2)), name=name)


def decide(
    m: Module, table: Automaton[Any, Any, Any], state: Value, event: Value, states: type[Enum], events: type[Enum]
) -> tuple[Signal, Signal]:
    """(next state, action) of a pair, as wires."""
    actions = type(next(iter(table.values()))[1])
    after, action = signal_of(states, f"{table.name}_after"), signal_of(actions, f"{table.name}_action")
    with m.Switch(Cat(state, event)):
        for one in states:
            for cause in events:
                following, done = table[one, cause]
                with m.Case(code(cause) << len(state) | code(one)):
                    m.d.comb += [after.eq(code(following)), action.eq(code(done))]
    return after, action


def decide_frame(m: Module, kind: Value, table: Mapping[FrameKind, FrameAction] = FRAME_TABLE) -> Signal:
    """The action for a kind of frame, as wires."""
    action = signal_of(FrameAction, "frame_action")
    with m.Switch(kind):
        for one, done in table.items():
            with m.Case(code(one)):
                m.d.comb += action.eq(code(done))
    return action
