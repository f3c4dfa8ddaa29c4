"""Events of histories: every kind with its fields."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields

from testbed.history.eventkinds import event_kinds
from testbed.manual.tables import code, table
from testbed.reading.documentation import field_docs
from workloads.machine import Event

__all__ = ["all_events"]

_PLACES = {
    "workloads": "Events of hosts",
    "switch_nodes": "Events of switches and cards",
    "testbed": "Events of worlds, faults, trainings and labs",
}
"""Places by the package that an event is defined in."""


def all_events() -> str:
    return "\n".join(
        f"## {title}\n\n" + "\n".join(_event(name, kind) for name, kind in _of(package))
        for package, title in _PLACES.items()
    )


def _of(package: str) -> Iterator[tuple[str, type[Event]]]:
    for name, kind in sorted(event_kinds().items()):
        if kind.__module__.partition(".")[0] == package and kind is not Event:
            yield name, kind


def _event(name: str, kind: type) -> str:
    own = kind.__doc__ or ""
    doc = "" if own.startswith(f"{name}(") else f"{' '.join(own.split())}\n\n"
    docs = field_docs(kind)
    rows = [(code(field.name), code(field.type), docs.get(field.name, "")) for field in fields(kind)]
    return f"### {name}\n\n{doc}{table(('field', 'type', 'meaning'), rows) if rows else ''}"
