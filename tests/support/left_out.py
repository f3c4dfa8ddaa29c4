"""What a tree lacks that `tests.support.without` made, and which tests need it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache

import pytest

from tests.support.floors import ROOT

__all__ = ["NEEDS", "PLACE", "lacking", "left_out"]

PLACE = "tests/left_out.json"
"""names that are words for something missing, written by `tests.support.without`"""
NEEDS = "protocols"
"""the mark of a test that runs these protocols; `all`: that reads documents or lists of all"""


@cache
def left_out() -> frozenset[str]:
    """The protocol and its scenarios; empty in a whole tree."""
    place = ROOT / PLACE
    return frozenset(json.loads(place.read_text(encoding="utf-8"))) if place.exists() else frozenset()


def lacking(item: pytest.Item) -> set[str]:
    """Names of what a test needs and the tree lacks: in its marks, or as values of its parameters."""
    if not left_out():
        return set()
    needed = {name for mark in item.iter_markers(NEEDS) for name in mark.args}
    if (call := getattr(item, "callspec", None)) is not None:
        needed |= set(_words(list(call.params.values())))
    return set(left_out()) if "all" in needed else needed & left_out()


def _words(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
        yield value.rpartition("=")[2]
    elif isinstance(value, list | tuple | set | frozenset):
        for each in value:
            yield from _words(each)
