"""How often each fault really struck, from the history: a fault that never did proves nothing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from testbed.faults.events import FaultMissed, FaultStruck

__all__ = ["backends_used", "strikes"]

_EVENT, _MISSED = FaultStruck.__name__, FaultMissed.__name__


def strikes(records: Iterable[Mapping[str, Any]], names: Iterable[str] = ()) -> dict[str, int]:
    """Fault name -> number of FaultStruck records, without those that changed nothing (FaultMissed); the faults in `names` come first,
    with 0 when they never struck."""
    counts = dict.fromkeys(names, 0)
    for record in records:
        if record["event"] == _EVENT:
            counts[record["fault"]] = counts.get(record["fault"], 0) + 1
        elif record["event"] == _MISSED:
            counts[record["fault"]] = counts.get(record["fault"], 0) - record["strikes"]
    return counts


def backends_used(records: Iterable[Mapping[str, Any]]) -> dict[str, tuple[str, ...]]:
    """Fault name -> backends that struck, in the order of their first strike."""
    used: dict[str, dict[str, None]] = {}
    for record in records:
        if record["event"] == _EVENT:
            used.setdefault(record["fault"], {})[record["backend"]] = None
    return {fault: tuple(backends) for fault, backends in used.items()}
