"""No code that nothing reaches: every module is imported, every name that a module offers is used by another line of
the product."""

from __future__ import annotations

import ast
import re
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from testbed.cli.commands import COMMANDS
from testbed.protocols import names

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("testbed", "workloads", "switch_nodes", "topologies", "playbooks")
FOR_OTHERS = {
    # what somebody who extends the testbed calls (docs/extending.md, docs/programs.md)
    "register_checker", "register_priority", "register_program", "assigned_plan",
    # the forms of a rule that documents and tests are held against
    "DIAGRAMS", "draw_many",
    "hier_ina", "hier_ring", "state_condition", "rnr_syndrome", "SLOT_RULES", "AGGREGATOR_RULES",
    "ENDPOINT_RULES", "GRID_RULES",
    # a fixture for others' tests (docs/python.md)
    "ina_run",
    # a card for whoever has none (docs/bring-your-own-fpga.md)
    "FakeCard",
    # what a wheel is made with (setup.py)
    "ship",
}  # fmt: skip
"""offered, and used by no other line of ours"""
STARTED = {
    "playbooks.lab.tasks", "playbooks.protocols.bf16",
    "playbooks.training.mlp", "playbooks.training.overlap", "playbooks.training.transformer",
    "testbed.api.plugin", "testbed.sweeps.worker", "testbed.interop.guest.runner",
    "testbed.lab.agent.install", "testbed.lab.emulated.power", "testbed.manual.hooks", "workloads.native.compiling",
}  # fmt: skip
"""modules that are run, not imported"""


@cache
def trees() -> dict[str, ast.Module]:
    """By file."""
    return {
        path.relative_to(ROOT).as_posix(): ast.parse(path.read_text(encoding="utf-8"))
        for folder in FOLDERS
        for path in sorted((ROOT / folder).rglob("*.py"))
    }


@pytest.fixture(scope="module", autouse=True)
def _parsed() -> None:
    trees()


def words(node: ast.Constant) -> list[str]:
    """Names in a string such as `testbed.cli.running:run_run`."""
    text = node.value
    return re.split(r"[.:]", text) if isinstance(text, str) and re.fullmatch(r"[\w.]+:\w+", text) else []


def used() -> Counter[str]:
    found: Counter[str] = Counter()
    for tree in trees().values():
        for node in ast.walk(tree):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                found[node.id] += 1
            elif isinstance(node, ast.Attribute):
                found[node.attr] += 1
            elif isinstance(node, ast.Constant):
                found.update(words(node))
    return found


def offered() -> dict[str, str]:
    """Name -> file, of what stands in a module's `__all__` and is made there."""
    found: dict[str, str] = {}
    for file, tree in trees().items():
        made = {
            name
            for node in tree.body
            for name in (
                [node.name]
                if isinstance(node, ast.FunctionDef | ast.ClassDef)
                else [target.id for target in node.targets if isinstance(target, ast.Name)]
                if isinstance(node, ast.Assign)
                else [node.target.id]
                if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
                else []
            )
        }
        for node in tree.body:
            if isinstance(node, ast.Assign) and any(ast.unparse(target) == "__all__" for target in node.targets):
                found |= {name: file for name in ast.literal_eval(node.value) if name in made}
    return found


@pytest.mark.protocols("all")
def test_what_a_module_offers_is_used() -> None:
    counts = used()
    unused = {name: file for name, file in offered().items() if not counts[name]}
    by_word = {name for name in unused if re.match(r"(configure|run)_", name)}  # of commands, named by their word
    assert {name: file for name, file in unused.items() if name not in FOR_OTHERS | by_word} == {}
    assert FOR_OTHERS - unused.keys() == set(), "these are used: they need no exception"


@pytest.mark.protocols("all")
def test_every_module_is_reached() -> None:
    imported: set[str] = set()
    for tree in trees().values():
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                imported |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                imported |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                imported.add(node.value.partition(":")[0])
    modules = {file.removesuffix(".py").replace("/", ".") for file in trees() if not file.endswith("__init__.py")}
    listed = {f"testbed.protocols.{name}" for name in names()}
    listed |= {command.options for command in COMMANDS.values()}
    lonely = {
        name
        for name in modules - imported - listed
        if not name.endswith(("__main__", ".diagrams", ".diagram", ".fake", ".kind", ".served"))
    }
    assert lonely == STARTED
