"""The floors of `testbed/`, and the picture of them in docs/architecture.md: `python -m tests.support.floors` writes it
anew."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "architecture.md"
ROOMS: tuple[tuple[str, ...], ...] = (
    ("manual",),
    ("cli",),
    ("api", "fingerprint"),
    ("protocols",),
    ("hunt", "train", "strategies", "bundle", "scaffold", "perf"),
    ("states", "explain", "bench"),
    ("sweeps",),
    ("scale", "comparison"),
    ("runs",),
    ("estimate",),
    ("report", "interop"),
    ("figures",),
    ("worlds",),
    ("jct",),
    ("checkers", "lab"),
    ("history",),
    ("plan", "drawing"),
    ("scenario", "doctor"),
    ("faults",),
    ("reading", "captures", "steering"),
    ("kernel", "terminal"),
)
"""from the top floor down: a room imports only rooms below it"""
_PLACES = {
    "keys": "scenario", "checks": "scenario", "plan": "plan", "hunt": "hunt", "states": "states", "waits": "explain",
    "bench": "bench", "scale": "scale",
}  # fmt: skip
"""the room in which modules of a protocol's folder stand, by the first word of their names; all others: `protocols`"""
_BEGIN, _END = "<!-- floors: made by tests/support/floors.py -->", "<!-- end of floors -->"


def python_files(folder: str) -> list[Path]:
    return sorted((ROOT / folder).rglob("*.py"))


@cache
def imports(path: Path) -> tuple[ast.Import | ast.ImportFrom, ...]:
    """Of a file, also the ones inside functions."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return tuple(node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom))


def imported_modules(path: Path) -> Iterator[str]:
    """Every imported module of a file, also the ones inside functions."""
    for node in imports(path):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        else:
            assert node.level == 0, f"{path}: relative import"
            yield node.module or ""


def room_of(path: Path) -> str:
    """Of a file of `testbed/`. Keys, checks, plan and hunt of a protocol stand where those of all do."""
    return _room(path.relative_to(ROOT / "testbed").with_suffix("").parts)


def _room(parts: tuple[str, ...]) -> str:
    if parts[0] == "protocols" and len(parts) > 2:
        return _PLACES.get(parts[2].partition("_")[0], "protocols")
    return parts[0]


@cache
def files_of(room: str) -> tuple[Path, ...]:
    return tuple(path for path in python_files("testbed") if room_of(path) == room)


def rooms_below(room: str) -> set[str]:
    """What a room of `testbed/` imports of the other rooms."""
    modules = (module for path in files_of(room) for module in imported_modules(path))
    placed = {name for floor in ROOMS for name in floor}
    found = {
        _room(parts[1:]) for module in modules if (parts := tuple(module.split(".")))[0] == "testbed" and parts[1:]
    }
    return found & placed - {room}


def picture() -> str:
    """One line a room: the first sentence of its docstring, up to a colon if that says enough."""
    lines = ["| floor | room | what it holds |", "|---|---|---|"]
    for number, floor in zip(range(len(ROOMS), 0, -1), ROOMS, strict=True):
        for room in floor:
            face = ast.get_docstring(ast.parse((ROOT / "testbed" / room / "__init__.py").read_text(encoding="utf-8")))
            first = re.split(r"(?<=\.)\s", " ".join((face or "").split()))[0]
            short = re.split("[:;]", first)[0]
            lines.append(f"| {number} | `{room}/` | {(short if short.count(' ') > 2 else first).rstrip('.')} |")
    return "\n".join(lines)


def with_picture(page: str) -> str:
    """The page with the picture of today's code."""
    before, rest = page.split(_BEGIN)
    return f"{before}{_BEGIN}\n{picture()}\n{_END}{rest.split(_END)[1]}"


if __name__ == "__main__":
    PAGE.write_text(with_picture(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
