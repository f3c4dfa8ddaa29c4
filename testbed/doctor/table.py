"""The probes for people and for programs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from testbed.doctor.model import Probe

if TYPE_CHECKING:
    from rich.table import Table

__all__ = ["as_json", "as_table"]


def as_json(probes: Iterable[Probe]) -> list[dict[str, Any]]:
    return [asdict(probe) for probe in probes]


def as_table(probes: Iterable[Probe]) -> Table:
    """For rich: what is there with its detail; what is not, with what is used instead and what would supply it."""
    from rich.markup import escape
    from rich.table import Table

    table = Table(title="What this machine can do", title_justify="left", expand=False)
    for heading in ("", "capability", "found", "used instead", "what would supply it"):
        table.add_column(heading, overflow="fold")
    for probe in probes:
        state = "[green]yes[/]" if probe.ok else "[yellow]no[/]"
        rest = ("", "") if probe.ok else (probe.instead, probe.remedy)
        table.add_row(state, *(escape(text) for text in (probe.title, probe.detail, *rest)))
    return table
