"""Is there a class of that name in a file of the user's own? Asked by reading it: nothing of it is run."""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator
from pathlib import Path

from workloads.errors import ScenarioError

__all__ = ["PROGRAM_KEY", "look_for_program", "program_path"]

PROGRAM_KEY = "switch.program"


def program_path(name: str) -> Path:
    """Of `path.py:Class`. Raises ScenarioError when there is no such file."""
    text = name.rpartition(":")[0]
    path = Path(text)
    if path.suffix != ".py" or not os.path.isfile(path):
        raise ScenarioError("no such program file", key=PROGRAM_KEY, found=repr(text), allowed="a .py file")
    return path


def look_for_program(name: str) -> None:
    """Raises ScenarioError when the file of `path.py:Class` is not there, is no Python, or binds no such name at its
    top level. A class, an import or an assignment may bind the name. What that name stands for is known when the file
    runs."""
    path, wanted = program_path(name), name.rpartition(":")[2]
    try:
        tree = ast.parse(path.read_bytes(), str(path))
    except (OSError, SyntaxError, ValueError) as error:
        problem = f"the program file {path} cannot be loaded: {type(error).__name__}: {error}"
        raise ScenarioError(problem, key=PROGRAM_KEY) from error
    bound = list(_bound(tree.body))
    if wanted not in bound and "*" not in bound:
        classes = [node.name for node in tree.body if isinstance(node, ast.ClassDef) and not node.name.startswith("_")]
        raise ScenarioError(
            f"the program file {path} has no such class",
            key=PROGRAM_KEY,
            found=repr(wanted),
            allowed=", ".join(classes) or "a class of that file, which has none",
        )


def _bound(body: list[ast.stmt]) -> Iterator[str]:
    """Names, those of branches included."""
    for statement in body:
        if isinstance(statement, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield statement.name
            continue
        for node in ast.walk(statement):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                yield node.id
            elif isinstance(node, ast.ClassDef):
                yield node.name
            elif isinstance(node, ast.alias):
                yield (node.asname or node.name).partition(".")[0]
