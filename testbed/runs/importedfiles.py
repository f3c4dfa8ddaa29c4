"""The source files that a Python file or module imports, and those that they import: found by reading, nothing of them
is run. A name that is put together while the code runs is not seen."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path

__all__ = ["imported_files", "module_files"]

Wanted = Callable[[str, Path], bool]
"""(name of a module, its file): are it and its imports of interest?"""


def imported_files(start: Path, wanted: Wanted) -> list[Path]:
    """All that the file `start` imports, sorted."""
    found = module_files(_names(start, ""), wanted)
    return sorted(set(found.values()) - {start})


def module_files(names: Iterable[str], wanted: Wanted) -> dict[str, Path]:
    """Modules by name -> file: these, the packages that hold them, and all that they import. Names that are no modules
    (attributes, modules that are not there) are left out."""
    found: dict[str, Path] = {}
    todo, asked = list(names), set[str]()
    while todo:
        name = todo.pop()
        if name in asked:
            continue
        asked.add(name)
        file = _file_of(name)
        if file is None or not wanted(name, file):
            continue
        found[name] = file
        package = name if file.name == "__init__.py" else name.rpartition(".")[0]
        todo += [name.rpartition(".")[0]] if "." in name else []
        todo += _names(file, package)
    return found


def _file_of(name: str) -> Path | None:
    where, spec = None, None
    for end in [*(index for index, letter in enumerate(name) if letter == "."), len(name)]:
        spec = _spec(name[:end], where)
        if spec is None:
            return None
        where = None if spec.submodule_search_locations is None else list(spec.submodule_search_locations)
        if where is None and end < len(name):
            return None
    if spec is None or spec.origin is None or not spec.origin.endswith(".py"):
        return None
    return Path(spec.origin).resolve()


def _spec(name: str, where: list[str] | None) -> ModuleSpec | None:
    try:
        return PathFinder.find_spec(name, where)
    except (ImportError, ValueError):
        return None


def _names(file: Path, package: str) -> Iterator[str]:
    """Modules that a file names in its imports, and attributes of them that may be modules."""
    try:
        tree = ast.parse(file.read_bytes())
    except (OSError, SyntaxError, ValueError):
        return
    for node in _what_runs(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            parts = package.split(".") if node.level else []
            base = ".".join([*parts[: len(parts) - node.level + 1], *([node.module] if node.module else [])])
            yield base
            yield from (f"{base}.{alias.name}" for alias in node.names)


def _what_runs(tree: ast.AST) -> Iterator[ast.AST]:
    """All nodes but for those below `if TYPE_CHECKING:`, which no interpreter runs."""
    todo = [tree]
    while todo:
        node = todo.pop()
        yield node
        if isinstance(node, ast.If) and ast.unparse(node.test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING"):
            todo += node.orelse
        else:
            todo += ast.iter_child_nodes(node)
