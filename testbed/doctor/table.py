"""The probes for people and for programs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict
from typing import Any

from testbed.doctor.model import Probe
from testbed.terminal.tables import table_lines

__all__ = ["as_json", "as_lines"]


def as_json(probes: Iterable[Probe]) -> list[dict[str, Any]]:
    return [asdict(probe) for probe in probes]


def as_lines(probes: Iterable[Probe], width: int, *, color: bool = False) -> Iterator[str]:
    """Of `width` columns: what is there with its detail; what is not, with what is used instead and what would supply
    it."""
    rows = [("yes" if probe.ok else "no", probe.title, _describe(probe)) for probe in probes]
    yield "What this machine can do"
    for line in table_lines(("", "capability", "found"), rows, width, text=(0, 1, 2), indent=0):
        shown = _STATES.get(line[:3].rstrip()) if color else None
        yield line if shown is None else f"{shown}{line[:3]}\x1b[0m{line[3:]}"


_STATES = {"yes": "\x1b[32m", "no": "\x1b[33m"}


def _describe(probe: Probe) -> str:
    if probe.ok:
        return probe.detail
    return f"{probe.detail}; used instead: {probe.instead}; what would supply it: {probe.remedy}"
