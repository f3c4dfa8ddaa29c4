"""The automaton of `tables` as a Mermaid diagram: what `docs/switchml.md` shows (a test compares the two)."""

from __future__ import annotations

from switch_nodes.switchml.tables import SLOT_TABLE, SlotState

__all__ = ["slot_diagram"]


def slot_diagram() -> str:
    """One version of one index."""
    edges: dict[tuple[str, str, str], list[str]] = {}
    for (before, event), (after, action) in SLOT_TABLE.items():
        edges.setdefault((before.name, after.name, action.name), []).append(event.name)
    lines = ["stateDiagram-v2", f"    [*] --> {SlotState.FREE.name}"]
    lines += [
        f"    {source} --> {target}: {', '.join(events)} / {done}" for (source, target, done), events in edges.items()
    ]
    return "\n".join(lines) + "\n"
