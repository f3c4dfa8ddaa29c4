"""What guided hunts reached in each protocol, made of `docs/assets/coverage.json`."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from testbed.hunt.behaviour import meanings_of_kind
from testbed.hunt.draw_fabric import FABRIC, RACK
from testbed.hunt.protocols import PROTOCOLS
from testbed.manual.tables import code, table

__all__ = ["DATA", "all_coverage", "hunted"]

DATA = Path(__file__).resolve().parents[2] / "docs" / "assets" / "coverage.json"
"""written by `python -m benchmarks.hunt_coverage`"""
_NAMES = {"rack": "NetReduce, racks", "fabric": "NetReduce, fabrics"}


def all_coverage() -> str:
    found = hunted()
    head = ("protocol", "schedules", "steps taken", "cannot happen", "never taken", "behaviours", "by mutation alone",
            "next schedule is new (95 %)")  # fmt: skip
    rows = [_row(kind, data) for kind, data in sorted(found.items())]
    return "\n".join((table(head, rows), *(_part(kind, data) for kind, data in sorted(found.items()))))


def hunted() -> dict[str, Any]:
    """The file, by kind of hunt, without protocols that are not installed."""
    found: dict[str, Any] = json.loads(DATA.read_text(encoding="utf-8"))
    return {kind: data for kind, data in found.items() if kind in (RACK, FABRIC, *PROTOCOLS)}


def _row(kind: str, data: Mapping[str, Any]) -> tuple[str, ...]:
    guided, steps = data["guided"], data["transitions"]
    new = guided["next_brings_something_new"]
    return (
        _name(kind), f"{data['schedules']:,}", f"{steps['taken']} of {steps['held']}", str(len(steps["impossible"])),
        str(len(steps["never"])), f"{guided['behaviours']:,}", f"{guided['by_mutation_alone']:,}",
        f"{new['low']:.1%} to {new['high']:.1%}",
    )  # fmt: skip


def _name(kind: str) -> str:
    return _NAMES.get(kind, code(kind))


def _part(kind: str, data: Mapping[str, Any]) -> str:
    return f"## {_name(kind)}\n\n" + "\n\n".join(_facts(kind, data)) + "\n"


def _facts(kind: str, data: Mapping[str, Any]) -> Iterator[str]:
    guided, steps = data["guided"], data["transitions"]
    curve = ", ".join(f"{met:,} after {after:,}" for after, met in guided["curve"])
    yield f"Behaviours met, by schedules: {curve}."
    counts = guided["sometimes"]
    yield table(
        ("mark", "meaning", "schedules"),
        [
            (mark, meaning, _count(counts[mark], guided["counted_up_to"]))
            for mark, meaning in meanings_of_kind(kind).items()
        ],
    )
    if steps["never"]:
        never = ", ".join(map(code, steps["never"]))
        yield f"Never taken by these schedules, and not known whether a run can take them: {never}."
    elif steps["held"]:
        yield "Every step that can happen was taken."
    else:
        yield "The Machines have no tables, so events alone are counted."
    if steps["impossible"]:
        by_reason: defaultdict[str, list[str]] = defaultdict(list)
        for step, why in steps["impossible"].items():
            by_reason[why].append(code(step))
        yield table(("cannot happen", "why"), [(", ".join(names), why) for why, names in by_reason.items()])


def _count(count: int, most: int) -> str:
    return "never" if not count else f"{most}+" if count >= most else str(count)
