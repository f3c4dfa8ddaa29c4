"""The automaton of `tables` as a Mermaid diagram: what the documentation shows (a test compares the two)."""

from __future__ import annotations

from switch_nodes.grid.tables import SlotState, slot_table

__all__ = ["slot_diagram"]


def slot_diagram(on_collision: str) -> str:
    """One slot."""
    edges: dict[tuple[str, str, str], list[str]] = {}
    for (before, event), (after, action) in slot_table(on_collision).items():
        edges.setdefault((before.name, after.name, action.name), []).append(event.name)
    lines = ["stateDiagram-v2", f"    [*] --> {SlotState.EMPTY.name}"]
    lines += [
        f"    {source} --> {target}: {', '.join(events)} / {done}" for (source, target, done), events in edges.items()
    ]
    return "\n".join(lines) + "\n"
