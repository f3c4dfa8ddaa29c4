"""How large is a version of the project, and how well are its floors kept?
`python -m benchmarks.count_house [TREE ...]` prints the counts of each checkout. It reads them as text; the words that
count as names of protocols are those of this checkout.

Rooms are what lies directly below `testbed/`. Rooms that import each other are a circle;
floors are the longest way down through the rooms, circles taken as one."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import networkx as nx

from tests.test_names_of_protocols import FOLDERS, OTHER_THINGS, OWN, compared

__all__ = ["count", "main"]

_KINDS = (".py", ".c", ".h")
_RECORDS = {"record", "event", "fact", "records"}
"""names of variables that hold a record"""
_OLD_OWN = ("switch_nodes/fast_forwarding.py", "switch_nodes/forwarding.py")
"""of programs that had no folder"""


def count(tree: Path) -> dict[str, int]:
    """What is counted, by name."""
    paths = [path for folder in FOLDERS for path in sorted((tree / folder).rglob("*")) if path.suffix in _KINDS]
    texts = {path.relative_to(tree).as_posix(): path.read_text(encoding="utf-8") for path in paths}
    rooms = _rooms(texts)
    circles = [part for part in nx.strongly_connected_components(rooms) if len(part) > 1]
    return {
        "lines": sum(len(text.splitlines()) for text in texts.values()),
        "lines that are not empty": sum(1 for text in texts.values() for line in text.splitlines() if line.strip()),
        "files": len(texts),
        "longest file": max(len(text.splitlines()) for text in texts.values()),
        "rooms": len(rooms),
        "floors": nx.dag_longest_path_length(nx.condensation(rooms)) + 1,
        "circles": len(circles),
        "rooms in circles": sum(map(len, circles)),
        "comparisons with names": sum(1 for _ in _comparisons(texts)),
        "reads of records by string": sum(_reads(text) for name, text in texts.items() if name.endswith(".py")),
        "lines over 120 columns": sum(len(line) > 120 for text in texts.values() for line in text.splitlines()),
    }


def _rooms(texts: dict[str, str]) -> nx.DiGraph:
    """Room -> rooms that it imports."""
    graph: nx.DiGraph = nx.DiGraph()
    named: dict[str, set[str]] = {}
    for name, text in texts.items():
        parts = name.split("/")
        if parts[0] != "testbed" or not name.endswith(".py") or parts[1] in ("__init__.py", "__main__.py"):
            continue
        named.setdefault(parts[1].removesuffix(".py"), set()).update(_imported(text))
    graph.add_nodes_from(named)
    graph.add_edges_from((room, other) for room, others in named.items() for other in others & set(named) - {room})
    return graph


def _imported(text: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(text)):
        modules: list[str] = []
        if isinstance(node, ast.Import):
            modules = [item.name for item in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            modules = [f"testbed.{item.name}" for item in node.names] if node.module == "testbed" else [node.module]
        yield from (parts[1] for module in modules if (parts := module.split("."))[0] == "testbed" and parts[1:])


def _comparisons(texts: dict[str, str]) -> Iterator[str]:
    for name, text in texts.items():
        if name.endswith(".py") and not name.startswith((*OWN, *_OLD_OWN)):
            yield from (name for _, table in compared(text) if f"{name}:{table}" not in OTHER_THINGS)


def _reads(text: str) -> int:
    """`record["t"]`, `event.get("node")`."""
    found = 0
    for node in ast.walk(ast.parse(text)):
        base: ast.AST | None = None
        if (
            isinstance(node, ast.Subscript)
            and isinstance(node.slice, ast.Constant)
            and isinstance(node.slice.value, str)
        ):
            base = node.value
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "get":
            base = node.func.value
        found += isinstance(base, ast.Name) and base.id in _RECORDS
    return found


def main() -> int:
    for tree in sys.argv[1:] or ["."]:
        print(tree, *(f"{name}: {number:,}" for name, number in count(Path(tree)).items()), sep="\n  ")
    return 0


if __name__ == "__main__":
    sys.exit(main())
