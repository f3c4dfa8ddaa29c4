"""State diagrams of the transition tables, for the documentation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from workloads.rc.dcqcn_table import REACTION_TABLE
from workloads.rc.requester_table import REQUESTER_TABLE
from workloads.rc.responder_table import RESPONDER_TABLE

__all__ = ["DIAGRAMS", "mermaid"]


def mermaid(table: Mapping[tuple[Any, Any], tuple[Any, tuple[Any, ...]]]) -> str:
    """A Mermaid state diagram of a table (state, event) -> (state, actions). Entries that change nothing and do nothing
    are left out; events that go the same way with the same actions share a line."""
    lines: dict[tuple[str, str, str], list[str]] = {}
    for (state, event), (after, actions) in table.items():
        if after is not state or actions:
            done = ", ".join(action.name for action in actions)
            lines.setdefault((state.name, after.name, done), []).append(event.name)
    text = ["stateDiagram-v2"]
    for (before, to, done), events in sorted(lines.items()):
        text.append(f"    {before} --> {to}: {' or '.join(sorted(events))}{' / ' + done if done else ''}")
    return "\n".join(text)


DIAGRAMS: dict[str, str] = {
    "requester": mermaid(REQUESTER_TABLE),
    "responder": mermaid(RESPONDER_TABLE),
    "reaction point": mermaid(REACTION_TABLE),
}
