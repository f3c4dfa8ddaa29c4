"""What a tree lacks that `tests.support.without` made, and which tests need it."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from types import CodeType, FunctionType

import pytest

from tests.support.floors import ROOT, imported_modules

__all__ = [
    "KEYS",
    "NEEDS",
    "PLACE",
    "imports_left_out",
    "lacking",
    "left_out",
    "meant_by",
    "present",
    "without_missing",
]

PLACE = "tests/left_out.json"
"""names that are words for something missing, written by `tests.support.without`"""
_SHARED = ("tests.support.", "benchmarks.")
KEYS = ("protocol", "program", "fallback", "all_reduce")
"""of scenarios and sweeps, that have the name of a protocol as their value"""
NEEDS = "protocols"
"""the mark of a test that runs these protocols; `all`: that reads documents or lists of all"""


@cache
def left_out() -> frozenset[str]:
    """The protocol and its scenarios; empty in a whole tree."""
    place = ROOT / PLACE
    return frozenset(json.loads(place.read_text(encoding="utf-8"))) if place.exists() else frozenset()


def lacking(item: pytest.Item) -> set[str]:
    """Names of what a test needs and the tree lacks: in its marks, as values of its parameters, or in what it, its
    fixtures and the functions of its file that it calls say (`meant_by`)."""
    if not left_out():
        return set()
    needed = {name for mark in item.iter_markers(NEEDS) for name in mark.args}
    said: list[str] = []
    if (call := getattr(item, "callspec", None)) is not None:
        said += _words(list(call.params.values()))
    if (function := getattr(item, "function", None)) is not None:
        said += _said(inspect.unwrap(function), set())
    for fixtures in getattr(getattr(item, "_fixtureinfo", None), "name2fixturedefs", {}).values():
        for fixture in fixtures:
            said += _said(inspect.unwrap(fixture.func), set())
    needed |= {name for name in left_out() if any(meant_by(text, name) for text in said)}
    return set(left_out()) if "all" in needed else needed & left_out()


def meant_by(text: str, name: str) -> bool:
    """Whether a string of a test is that name, or gives it as the value of a key of scenarios."""
    keys = "|".join(KEYS)
    listed = rf"\b(?:{keys})[:=]\s*\[?(?:[\w-]+,\s*)*{re.escape(name)}\s*(?:[,}}\]#]|$)"
    return text == name or (name in text and re.search(listed, text, re.MULTILINE) is not None)


def _said(function: object, seen: set[int]) -> Iterator[str]:
    """Strings of a function and its defaults, without its docstring, of the constants that it uses, and of functions of
    its file."""
    if not isinstance(function, FunctionType) or id(function) in seen:
        return
    seen.add(id(function))
    yield from _words([*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()])
    codes = [function.__code__]
    while codes:
        code = codes.pop()
        codes += [each for each in code.co_consts if isinstance(each, CodeType)]
        yield from (text for each in code.co_consts for text in _words(each) if text != function.__doc__)
        for used in (function.__globals__[name] for name in code.co_names if name in function.__globals__):
            yield from _words(used)
            if getattr(used, "__module__", None) == function.__module__:
                yield from _said(used, seen)


@cache
def imports_left_out(path: Path) -> bool:
    """Whether a test file imports a part of the protocol that the tree lacks, or a module of tests or benchmarks that
    does; or is marked, as a whole, with the protocol. It may fail when it is imported."""
    lacks = left_out()
    if not lacks or path.suffix != ".py":
        return False
    if _marks_of(path.read_text(encoding="utf-8")) & lacks:
        return True
    begins = tuple(
        f"{place}{name}"
        for name in lacks
        for place in ("switch_nodes.", "workloads.", "testbed.protocols.", "tests.support.")
    )
    modules = set(imported_modules(path))
    part = re.compile(rf"(?:\w+\.)+(?:{'|'.join(map(re.escape, lacks))})(?:[._].*)?")
    if any(part.fullmatch(module) for module in modules if module.startswith(begins)):
        return True
    shared = (ROOT / f"{module.replace('.', '/')}.py" for module in modules if module.startswith(_SHARED))
    return any(imports_left_out(each) for each in shared if each.is_file() and each != path)


def _marks_of(source: str) -> set[str]:
    """Protocols in the `pytestmark` of a file."""
    found = re.search(rf"^pytestmark = [^\n]*mark\.{NEEDS}\(([^)]*)\)", source, re.MULTILINE)
    return set() if found is None else set(re.findall(r"\w+", found[1]))


def present(names: Sequence[str]) -> tuple[str, ...]:
    """Those that the tree has."""
    return tuple(name for name in names if name not in left_out())


def without_missing(text: str) -> str:
    """A text that lists names with commas, without those that the tree lacks."""
    for name in left_out():
        text = re.sub(rf"(?<![\w-]){re.escape(name)}, |, {re.escape(name)}(?![\w-])", "", text)
    return text


def _words(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
        yield value.rpartition("=")[2]
    elif isinstance(value, Mapping):
        yield from _words([*value, *value.values()])
    elif isinstance(value, list | tuple | set | frozenset):
        for each in value:
            yield from _words(each)
