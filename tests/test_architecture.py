"""The architecture as tests: imports run downwards, and Machines do no I/O."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import networkx as nx
import pytest

ROOT = Path(__file__).resolve().parent.parent
FLOORS = {
    "workloads": set(),
    "topologies": set(),
    "switch_nodes": {"workloads"},
    "testbed": {"workloads", "topologies", "switch_nodes", "playbooks"},
    "playbooks": {"workloads", "topologies", "switch_nodes", "testbed"},
}
ROOMS = (
    {"__main__"},
    {"cli"},
    {"hunt", "bench", "sweep"},
    {"scale"},
    {"runs"},
    {"report", "interop"},
    {"figures"},
    {"worlds"},
    {"checkers", "lab"},
    {"history"},
    {"plan", "drawing"},
    {"scenario", "doctor"},
    {"faults"},
    {"reading", "captures", "steering"},
    {"kernel"},
)
"""of `testbed/`, from the top floor down: a room imports only rooms below it"""
SANS_IO_FORBIDDEN = {
    "socket", "time", "random", "threading", "asyncio", "mininet", "pyroute2", "logging", "select", "selectors",
    "subprocess", "secrets", "uuid", "datetime",
}  # fmt: skip
IO_EDGES = ("workloads/native/", "switch_nodes/dataplane/", "switch_nodes/fpga/io/", "workloads/verbs/")


def python_files(folder: str) -> list[Path]:
    return sorted(path for path in (ROOT / folder).rglob("*.py"))


def imported_modules(path: Path) -> Iterator[str]:
    """Every imported module of a file, also the ones inside functions."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            yield node.module or ""


@pytest.mark.parametrize("folder", FLOORS)
def test_imports_run_downwards(folder: str) -> None:
    ours = set(FLOORS)
    wrong = [
        f"{path.relative_to(ROOT)} imports {module}"
        for path in python_files(folder)
        for module in imported_modules(path)
        if (top := module.split(".")[0]) in ours - {folder} and top not in FLOORS[folder]
    ]
    assert not wrong, wrong


def room_of(module: str) -> str | None:
    """Of a module of `testbed`; None for its face and for other packages."""
    parts = module.split(".")
    return parts[1] if parts[0] == "testbed" and len(parts) > 1 and parts[1] != "__version__" else None


def test_every_room_of_the_testbed_has_its_floor() -> None:
    placed = [room for floor in ROOMS for room in floor]
    rooms = {path.relative_to(ROOT / "testbed").parts[0].removesuffix(".py") for path in python_files("testbed")}
    assert sorted(placed) == sorted(rooms - {"__init__"})


def test_rooms_of_the_testbed_import_only_rooms_below_them() -> None:
    floor_of = {room: -number for number, floor in enumerate(ROOMS) for room in floor}
    wrong = [
        f"{path.relative_to(ROOT)} imports {module}"
        for path in python_files("testbed")
        if (room := path.relative_to(ROOT / "testbed").parts[0].removesuffix(".py")) in floor_of
        for module in imported_modules(path)
        if (below := room_of(module)) is not None and below != room and floor_of[below] >= floor_of[room]
    ]
    assert not wrong, wrong


@cache
def import_graph() -> nx.DiGraph[str]:
    """Between files, also for types alone. The face of a package hands on the names of its files; it ties nobody."""
    files = {
        ".".join(path.relative_to(ROOT).with_suffix("").parts): path
        for folder in FLOORS
        for path in python_files(folder)
    }
    graph: nx.DiGraph[str] = nx.DiGraph()
    for name, path in files.items():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                targets = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                targets = [f"{node.module}.{alias.name}" for alias in node.names] + [node.module or ""]
            else:
                continue
            graph.add_edges_from((name, target) for target in targets if target in files and target != name)
    return graph


def test_no_files_import_each_other_in_a_circle() -> None:
    circles = [sorted(part) for part in nx.strongly_connected_components(import_graph()) if len(part) > 1]
    assert not circles, circles


@pytest.mark.parametrize("folder", ["workloads", "switch_nodes", "topologies"])
def test_machines_do_no_io_and_know_no_clock(folder: str) -> None:
    wrong = [
        f"{relative} imports {module}"
        for path in python_files(folder)
        if not (relative := path.relative_to(ROOT).as_posix()).startswith(IO_EDGES)
        for module in imported_modules(path)
        if module.split(".")[0] in SANS_IO_FORBIDDEN
    ]
    assert not wrong, wrong


@pytest.mark.parametrize("folder", ["workloads", "switch_nodes", "topologies"])
def test_machines_print_nothing(folder: str) -> None:
    """People read events; a second way out of a Machine would be a second truth."""
    wrong = [
        f"{relative}:{node.lineno}"
        for path in python_files(folder)
        if not (relative := path.relative_to(ROOT).as_posix()).startswith(IO_EDGES)
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print"
    ]
    assert not wrong, wrong


def test_no_module_passes_400_lines() -> None:
    long = {
        str(path.relative_to(ROOT)): lines
        for folder in FLOORS
        for path in python_files(folder)
        if (lines := len(path.read_text(encoding="utf-8").splitlines())) > 400
    }
    assert not long, long
