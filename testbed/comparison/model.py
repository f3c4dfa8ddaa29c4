"""Finished runs side by side, as values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from testbed.comparison.figures import Figure, flat_figures
from testbed.reading.yamlfile import parse_yaml, read_text
from testbed.runs.run import read_result
from testbed.terminal.stream import shown_path
from workloads.errors import ScenarioError

__all__ = ["ComparedRow", "Comparison", "Side", "compare_runs"]

_CODE = (
    "version", "source", "own_code", "code", "event_loop", "backend", "host_version", "python", "numpy",
    "kernel", "data_plane", "mininet",
)  # fmt: skip
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_MANY = "jct.workers_ns."
"""start of the names of figures that are too many for a table: nine of each worker"""


@dataclass(frozen=True, slots=True)
class Side:
    """One of the runs."""

    letter: str
    path: str
    document: Mapping[str, Any]
    keys: Mapping[str, str]
    """keys of the resolved scenario, by dotted name"""
    figures: Mapping[str, Figure]

    @property
    def title(self) -> str:
        found = self.document
        return f"{found['scenario']}, {found['world']} world, seed {found['seed']}: {found['verdict']}"


@dataclass(frozen=True, slots=True)
class ComparedRow:
    """One thing, as each of the sides has it."""

    name: str
    values: tuple[Any, ...]
    """values in the order of the sides; None: this side has no such thing"""

    @property
    def differs(self) -> bool:
        return any(value != self.values[0] for value in self.values[1:])

    @property
    def ratios(self) -> tuple[float | None, ...]:
        """Of each figure to that of the first side; None where there is none."""
        first = self.values[0]
        return tuple(None if value is None or not first else value / first for value in self.values)


@dataclass(frozen=True, slots=True)
class Comparison:
    sides: tuple[Side, ...]
    keys: tuple[ComparedRow, ...]
    """keys of the scenario that differ"""
    figures: tuple[ComparedRow, ...]
    """all of them, equal ones too"""
    checks: tuple[ComparedRow, ...]
    """verdicts; `skipped` where a check was not made"""
    faults: tuple[ComparedRow, ...]
    """rows of the hits of each fault"""
    code: tuple[ComparedRow, ...]
    """what ran: versions of the code, compiled or not, Python and its libraries; only what differs"""


def compare_runs(run_dirs: Sequence[Path]) -> Comparison:
    """Of run directories, or of points of a sweep. Raises ScenarioError for fewer than two, for more than 26, and for
    what is no finished run."""
    if not 2 <= len(run_dirs) <= len(_LETTERS):
        raise ScenarioError(
            "not a number of runs that can be compared",
            file="tb compare",
            found=str(len(run_dirs)),
            allowed=f"2 to {len(_LETTERS)}",
        )
    sides = tuple(_side(letter, path) for letter, path in zip(_LETTERS, run_dirs, strict=False))
    return Comparison(
        sides,
        tuple(row for row in _rows(sides, lambda side: side.keys) if row.differs),
        _rows(sides, lambda side: side.figures),
        _rows(sides, _verdicts),
        _rows(sides, lambda side: {fault["name"]: fault["strikes"] for fault in side.document["faults"]}),
        tuple(row for row in _rows(sides, _code) if row.differs),
    )


def _side(letter: str, run_dir: Path) -> Side:
    document, file = read_result(run_dir), run_dir / "scenario.yaml"
    scenario, _ = parse_yaml(read_text(file, str(file)), str(file))
    figures = {name: value for name, value in flat_figures(document).items() if not name.startswith(_MANY)}
    return Side(letter, shown_path(run_dir), document, dict(_flat("", scenario)), figures)


def _verdicts(side: Side) -> dict[str, str]:
    found = {check["name"]: check["verdict"] for check in side.document["checks"]}
    return found | {item["name"]: "skipped" for item in side.document["skipped"]}


def _code(side: Side) -> dict[str, str]:
    """Without what a machine is: its load and its name say nothing of the code."""
    found = side.document.get("environment") or {}
    return {name: str(found[name]) for name in _CODE if name in found}


def _rows(sides: Sequence[Side], of: Callable[[Side], Mapping[str, Any]]) -> tuple[ComparedRow, ...]:
    """In the order in which the sides have them."""
    found = [of(side) for side in sides]
    names = dict.fromkeys(name for values in found for name in values)
    return tuple(ComparedRow(name, tuple(values.get(name) for values in found)) for name in names)


def _flat(prefix: str, value: Any) -> Iterable[tuple[str, str]]:
    """Entries of a list go by their name where they have one: the order of faults is no difference."""
    if isinstance(value, dict) and value:
        for key, item in value.items():
            yield from _flat(f"{prefix}.{key}" if prefix else str(key), item)
    elif isinstance(value, list) and any(isinstance(item, dict) for item in value):
        for index, item in enumerate(value):
            name = item.get("name", index) if isinstance(item, dict) else index
            yield from _flat(f"{prefix}.{name}", item)
    elif prefix != "description":
        yield prefix, _spelled(value)


def _spelled(value: Any) -> str:
    if value is None or value in ([], {}):
        return "none"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return ", ".join(map(_spelled, value))
    return str(value)
