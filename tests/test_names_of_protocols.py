"""Nobody but the protocols themselves compares the name of a collective, of a switch program, or of a class of
configurations: all others ask `Protocol`, `Traits`, `ProgramKind` or `RingKind`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from switch_nodes.kinds import program_kinds
from testbed.scenario.known import protocol_names, protocols
from tests.support.floors import ROOT, python_files

FOLDERS = ("testbed", "workloads", "switch_nodes", "topologies", "playbooks")
OWN = (
    "testbed/protocols/", "workloads/switchml/", "workloads/atp/", "workloads/grid/", "workloads/collectives/",
    "switch_nodes/netreduce/", "switch_nodes/switchml/", "switch_nodes/aggregators/", "switch_nodes/grid/",
    "switch_nodes/fpga/",
    "switch_nodes/forwarding/", "switch_nodes/steering/",
)  # fmt: skip
"""where protocols and programs know themselves"""
OTHER_THINGS = {
    "testbed/bench/grid.py": "planners of gradient routes",
    "testbed/bench/gridsizes.py": "planners of gradient routes",
    "testbed/hunt/draw_grid.py": "planners of gradient routes",
    "testbed/hunt/shrink_grid.py": "a planner of gradient routes",
    "topologies/routing/gradients/planners.py": "planners of gradient routes",
    "testbed/bench/registry.py": "a bench",
    "testbed/cli/benching.py": "a bench",
    "testbed/report/timeline/naming.py": "a state of the connection table",
    "testbed/scale/rack.py": "fast models of collectives, which are no protocols",
    "testbed/sweeps/parameters.py": "fast models of collectives, which are no protocols",
    "testbed/scenario/names.py": "planners of gradient routes, and fallbacks",
    "workloads/costs/registry.py": "closed forms",
    "workloads/costs/traffic.py": "closed forms",
}
"""files in which these words name something else"""
NAMES = {*protocol_names(), *program_kinds()}
CLASSES = {protocol.worker.__name__ for protocol in protocols() if protocol.worker is not None}


def words_in(node: ast.AST, constants: frozenset[str]) -> bool:
    """Whether a name, or a constant of the module that holds one, is in it."""
    return any(
        (isinstance(part, ast.Constant) and part.value in NAMES)
        or (isinstance(part, ast.Name) and part.id in constants)
        for part in ast.walk(node)
    )


def constants_of(tree: ast.Module) -> frozenset[str]:
    """That hold names of collectives or programs."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign | ast.AnnAssign) and isinstance(
            node.value, ast.Constant | ast.Tuple | ast.Set | ast.List
        ):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            found |= {each.id for each in targets if isinstance(each, ast.Name) and words_in(node.value, frozenset())}
    return frozenset(found)


def compared(text: str) -> Iterator[int]:
    """Lines that compare a name, keep a table by names, or ask for a class of configurations."""
    tree = ast.parse(text)
    constants = constants_of(tree)
    for node in ast.walk(tree):
        if (isinstance(node, ast.Compare) and words_in(node, constants)) or is_table(node) or asks_for_class(node):
            yield getattr(node, "lineno", 0)


def is_table(node: ast.AST) -> bool:
    return isinstance(node, ast.Dict) and any(isinstance(key, ast.Constant) and key.value in NAMES for key in node.keys)


def asks_for_class(node: ast.AST) -> bool:
    called = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "isinstance"
    return called and any(isinstance(part, ast.Name) and part.id in CLASSES for part in ast.walk(node))


def elsewhere() -> Iterator[tuple[str, Path]]:
    for folder in FOLDERS:
        for path in python_files(folder):
            name = path.relative_to(ROOT).as_posix()
            if not name.startswith(OWN):
                yield name, path


def test_nobody_else_compares_names() -> None:
    wrong = [
        f"{name}:{line}"
        for name, path in elsewhere()
        if name not in OTHER_THINGS
        for line in compared(path.read_text(encoding="utf-8"))
    ]
    assert not wrong, wrong


def test_every_exception_is_needed() -> None:
    needed = {name for name, path in elsewhere() if list(compared(path.read_text(encoding="utf-8")))}
    assert set(OTHER_THINGS) - needed == set()


@pytest.mark.parametrize(
    "text",
    [
        'if job.collective == "atp": ...', 'if program != "forward": ...', 'if kind in ("netreduce", "shift"): ...',
        'SERVED = ("atp", "esa")\nif name in SERVED: ...', '{"switchml": 1}', "isinstance(worker, AtpConfig)",
    ],
)  # fmt: skip
def test_such_lines_are_found(text: str) -> None:
    assert list(compared(text)) != []
