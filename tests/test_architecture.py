"""The architecture as tests: imports run downwards, and Machines do no I/O."""

from __future__ import annotations

import ast
import re
from functools import cache

import networkx as nx
import pytest

from testbed.protocols import names
from tests.support.floors import (
    PAGE,
    ROOMS,
    ROOT,
    imported_modules,
    imports,
    python_files,
    room_of,
    rooms_below,
    with_picture,
)

FLOORS = {
    "workloads": set(),
    "topologies": set(),
    "switch_nodes": {"workloads"},
    "testbed": {"workloads", "topologies", "switch_nodes"},
    "playbooks": {"workloads", "topologies", "switch_nodes", "testbed"},
}
SANS_IO_FORBIDDEN = {
    "socket", "time", "random", "threading", "asyncio", "mininet", "pyroute2", "logging", "select", "selectors",
    "subprocess", "secrets", "uuid", "datetime",
}  # fmt: skip
IO_EDGES = (
    "workloads/native/", "switch_nodes/dataplane/", "switch_nodes/fpga/io/", "switch_nodes/fpga/rtl/simulation/",
    "workloads/verbs/",
    "workloads/ranks/client.py",
    "workloads/torch_backend/",
)  # fmt: skip


@pytest.fixture(scope="module", autouse=True)
def _parsed() -> None:
    """All files, for all tests here."""
    for folder in FLOORS:
        for path in python_files(folder):
            imports(path)


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


def test_every_room_of_the_testbed_has_its_floor() -> None:
    assert sorted(room for floor in ROOMS for room in floor) == sorted(
        {room_of(path) for path in python_files("testbed")} - {"__init__", "__main__"}
    )


def test_rooms_of_the_testbed_import_only_rooms_below_them() -> None:
    floor_of = {room: -number for number, floor in enumerate(ROOMS) for room in floor}
    wrong = {
        room: upwards
        for room, own in floor_of.items()
        if (upwards := sorted(below for below in rooms_below(room) if floor_of[below] >= own))
    }
    assert not wrong, wrong


def test_no_room_imports_the_folder_of_a_protocol() -> None:
    """Of the folder of a protocol only `PROTOCOL` is asked for, by name. So the folder can be deleted."""
    found = {
        path.relative_to(ROOT).as_posix(): name
        for path in python_files("testbed")
        for module in imported_modules(path)
        for name in names()
        if f"{module}.".startswith(f"testbed.protocols.{name}.") and name not in path.relative_to(ROOT).parts
    }
    assert found == {}


def test_the_page_on_architecture_shows_the_floors_of_today() -> None:
    """`python -m tests.support.floors` writes them anew."""
    page = PAGE.read_text(encoding="utf-8")
    assert with_picture(page) == page


@pytest.mark.parametrize("walk", re.findall(r"^## (A .*)$", PAGE.read_text(encoding="utf-8"), re.MULTILINE))
def test_the_walks_of_the_page_name_files_that_are_there(walk: str) -> None:
    text = PAGE.read_text(encoding="utf-8").split(f"## {walk}\n")[1].split("\n## ")[0]
    named = re.findall(r"`((?:testbed|topologies|switch_nodes|workloads)/[\w/]+\.(?:py|c))`", text)
    assert len(named) >= 10
    assert [name for name in named if not (ROOT / name).is_file()] == []


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
        for node in imports(path):
            if isinstance(node, ast.Import):
                targets = [alias.name for alias in node.names]
            else:
                targets = [f"{node.module}.{alias.name}" for alias in node.names] + [node.module or ""]
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
        if "print" in (text := path.read_text(encoding="utf-8"))
        for node in ast.walk(ast.parse(text))
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
