"""The table of `tables` as a Mermaid diagram: what `docs/atp.md` shows (a test compares the two)."""

from __future__ import annotations

from workloads.server.tables import BLOCK_TABLE, BlockState

__all__ = ["block_diagram"]


def block_diagram() -> str:
    """One block of a job at its server."""
    edges: dict[tuple[str, str, str], list[str]] = {}
    for (before, event), (after, action) in BLOCK_TABLE.items():
        edges.setdefault((before.name, after.name, action.name), []).append(event.name)
    lines = ["stateDiagram-v2", f"    [*] --> {BlockState.UNKNOWN.name}"]
    lines += [
        f"    {source} --> {target}: {', '.join(events)} / {done}" for (source, target, done), events in edges.items()
    ]
    return "\n".join(lines) + "\n"
