"""Nobody but the protocols themselves compares the name of a collective, of a switch program, or of a class of theirs:
all others ask `Protocol`, `ProgramKind` or `RingKind`."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from switch_nodes.kinds import program_kinds
from testbed.scenario.protocols.named import protocol_names
from tests.support.floors import ROOT, python_files
from tests.support.left_out import left_out

FOLDERS = ("testbed", "workloads", "switch_nodes", "topologies", "playbooks")
OWN = (
    "testbed/protocols/", "workloads/switchml/", "workloads/atp/", "workloads/grid/", "workloads/collectives/",
    "switch_nodes/netreduce/", "switch_nodes/switchml/", "switch_nodes/aggregators/", "switch_nodes/grid/",
    "switch_nodes/fpga/",
    "switch_nodes/forwarding/", "switch_nodes/steering/", "workloads/repair/", "switch_nodes/repair/",
    "workloads/dlcp/", "switch_nodes/dlcp/", "workloads/flows/",
)  # fmt: skip
"""where protocols and programs know themselves"""
OTHER_THINGS = {
    "topologies/routing/gradients/planners.py:PLANNERS": "planners of gradient routes: the table of them",
    "workloads/costs/registry.py:FLAT_COSTS": "closed forms: the table of them",
    "workloads/costs/traffic.py:_SHARES": "closed forms: the bytes that each sends",
}
"""tables whose keys are such words, and name something else, as `file:table`"""
NAMES = {*protocol_names(), *program_kinds()}
LOOK_UPS = {"get", "pop", "startswith", "endswith", "index", "count", "protocol_of"}
"""functions that a name must not be given to"""


_QUOTED = "|".join(map(re.escape, sorted(NAMES)))
COMPARES = re.compile(rf"""["'](?:{_QUOTED})["']|dict\(|isinstance|issubclass|match """)
"""in each text that compares a name or asks for a class"""


@cache
def classes() -> frozenset[str]:
    """Of configurations, workers and programs that protocols have for themselves."""
    found = set()
    for folder in OWN:
        for path in python_files(folder.rstrip("/")):
            found |= {node.name for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.ClassDef)}
    # Cards are hardware: what they log is asked for where cards are.
    return frozenset(found) - {"TimedFrame", "CardCommanded"}


def is_name(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value in NAMES


def words_in(node: ast.AST, constants: frozenset[str]) -> bool:
    """Whether a name, or a constant of the module that holds one, is in it."""
    return any(is_name(part) or (isinstance(part, ast.Name) and part.id in constants) for part in ast.walk(node))


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


def compared(text: str) -> Iterator[tuple[int, str]]:
    """(line, name that the statement gives) of all that compare a name, keep a table by names or look one up in it, or
    ask for a class of a protocol."""
    if not COMPARES.search(text):
        return
    tree = ast.parse(text)
    constants = constants_of(tree)
    for statement in tree.body:
        for node in ast.walk(statement):
            if asks(node, constants):
                yield getattr(node, "lineno", 0), given_by(statement)


def given_by(statement: ast.stmt) -> str:
    targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
    return next((part.id for each in targets if each for part in ast.walk(each) if isinstance(part, ast.Name)), "")


def asks(node: ast.AST, constants: frozenset[str]) -> bool:
    match node:
        case ast.Compare() | ast.MatchValue():
            return words_in(node, constants)
        case ast.Dict():
            return any(key is not None and is_name(key) for key in node.keys)
        case ast.Subscript():
            return words_in(node.slice, constants) and not isinstance(node.slice, ast.Name)
        case ast.MatchClass():
            return named(node.cls) in classes()
        case ast.Call():
            called = named(node.func)
            if called == "dict":
                return any(item.arg in NAMES for item in node.keywords)
            if called in ("isinstance", "issubclass"):
                return any(isinstance(part, ast.Name) and part.id in classes() for part in ast.walk(node))
            return called in LOOK_UPS and any(is_name(item) for item in node.args)
    return False


def named(node: ast.AST) -> str:
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def elsewhere() -> Iterator[tuple[str, Path]]:
    for folder in FOLDERS:
        for path in python_files(folder):
            name = path.relative_to(ROOT).as_posix()
            if not name.startswith(OWN):
                yield name, path


@cache
def all_compared() -> list[tuple[str, str]]:
    """(file and line, file and table)"""
    return [
        (f"{name}:{line}", f"{name}:{table}")
        for name, path in elsewhere()
        for line, table in compared(path.read_text(encoding="utf-8"))
    ]


@pytest.fixture(scope="module", autouse=True)
def _compared() -> None:
    all_compared()


def test_nobody_else_compares_names() -> None:
    wrong = [place for place, table in all_compared() if table not in OTHER_THINGS]
    assert not wrong, wrong


def test_every_exception_is_needed() -> None:
    assert set(OTHER_THINGS) - {table for _, table in all_compared()} == set()


@pytest.mark.parametrize(
    "text",
    [
        'if job.protocol == "atp": ...', 'if program != "forward": ...', 'if kind in ("netreduce", "shift"): ...',
        'SERVED = ("atp", "esa")\nif name in SERVED: ...', '{"switchml": 1}', "isinstance(worker, AtpConfig)",
        'match name:\n    case "atp" | "esa": ...', 'dict(ring=1)', 'TABLE["grid"]', 'TABLE.get("grid")',
        'protocol_of("atp").servers()', 'name.startswith("ring")', "match worker:\n    case GridConfig(): ...",
    ],
)  # fmt: skip
def test_such_lines_are_found(text: str) -> None:
    if left_out() & set(re.findall(r"[a-z]+", text.lower().replace("config", " "))):
        pytest.skip("the tree lacks it")
    assert list(compared(text)) != []
