"""The automaton of `tables` as a Mermaid diagram: what the documentation shows (a test compares the two)."""

from __future__ import annotations

from switch_nodes.aggregators.tables import SlotState, aggregator_table
from switch_nodes.jobs import AggregatorKnobs

__all__ = ["slot_diagram"]


def slot_diagram(knobs: AggregatorKnobs) -> str:
    """One slot, with these knobs."""
    edges: dict[tuple[str, str, str], list[str]] = {}
    for (before, event), (after, action) in aggregator_table(knobs).items():
        edges.setdefault((before.name, after.name, action.name), []).append(event.name)
    lines = ["stateDiagram-v2", f"    [*] --> {SlotState.EMPTY.name}"]
    lines += [
        f"    {source} --> {target}: {', '.join(events)} / {done}" for (source, target, done), events in edges.items()
    ]
    return "\n".join(lines) + "\n"
