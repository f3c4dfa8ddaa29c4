"""The automata of `tables` as Mermaid diagrams: what `docs/netreduce.md` shows (a test compares the two)."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import TypeVar

from switch_nodes.netreduce.tables import CONNECTION_TABLE, LEAF_SLOT_TABLE, SLOT_TABLE, SlotState

__all__ = ["connection_diagram", "leaf_slot_diagram", "slot_diagram"]

State = TypeVar("State", bound=Enum)
Event = TypeVar("Event", bound=Enum)
Action = TypeVar("Action", bound=Enum)


def _diagram(first: Enum, table: Mapping[tuple[State, Event], tuple[State, Action]]) -> str:
    lines = ["stateDiagram-v2", f"    [*] --> {first.name}"]
    edges: dict[tuple[str, str, str], list[str]] = {}
    for (before, event), (after, action) in table.items():
        edges.setdefault((before.name, after.name, action.name), []).append(event.name)
    for (source, target, done), events in edges.items():
        lines.append(f"    {source} --> {target}: {', '.join(events)} / {done}")
    return "\n".join(lines) + "\n"


def slot_diagram() -> str:
    """One aggregator slot of a rack's only switch, or of a spine."""
    return _diagram(SlotState.EMPTY, SLOT_TABLE)


def leaf_slot_diagram() -> str:
    """One aggregator slot of a leaf."""
    return _diagram(SlotState.EMPTY, LEAF_SLOT_TABLE)


def connection_diagram() -> str:
    """One connection on a ring edge."""
    return _diagram(next(iter(CONNECTION_TABLE))[0], CONNECTION_TABLE)
