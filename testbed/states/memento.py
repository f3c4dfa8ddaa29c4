"""The state of a Machine: kept, put back, and compared.

A Machine stays the same object for ever. Its state is the content of every list, table, array and attribute that it
reaches. `keep` lists these containers with their contents, and `put_back` writes the contents into the same containers.
So closures, bound methods and views of memory stay valid, and no Machine needs code for this. The Machines must be
interpreted: compiled ones hide their attributes.
"""

from __future__ import annotations

import functools
import hashlib
import re
import struct
import types
from array import array
from collections import deque
from collections.abc import Callable
from enum import Enum
from random import Random
from typing import Any

import numpy as np

from testbed.states.forgotten import SAME
from workloads.errors import InternalError

__all__ = ["Memento", "described", "fields_of", "keep", "put_back"]

Memento = list[tuple[Any, Any]]
"""(container, its content)"""
_PLAIN = (
    int, float, complex, str, bytes, bool, type(None), type, types.ModuleType, types.BuiltinFunctionType, Enum,
    np.dtype, np.generic, np.ufunc, range, types.EllipsisType, struct.Struct, re.Pattern,
)  # fmt: skip
_DIGEST = type(hashlib.sha256())
"""a hash, whose state is hidden: copies take its place"""


_slots_known: dict[type, tuple[str, ...]] = {}
_frozen_known: dict[type, bool] = {}


def _slots_of(kind: type) -> tuple[str, ...]:
    """Names of the slots of a class and its bases."""
    found = _slots_known.get(kind)
    if found is None:
        names: list[str] = []
        for base in kind.__mro__:
            own = base.__dict__.get("__slots__", ())
            names += (own,) if isinstance(own, str) else own
        found = _slots_known[kind] = tuple(name for name in names if name not in ("__dict__", "__weakref__"))
    return found


def _is_frozen(kind: type) -> bool:
    found = _frozen_known.get(kind)
    if found is None:
        parameters = getattr(kind, "__dataclass_params__", None)
        found = _frozen_known[kind] = parameters is not None and bool(parameters.frozen)
    return found


def fields_of(thing: Any) -> list[tuple[str, Any]]:
    """(name, value) of the attributes of an object, in a fixed order."""
    found = [(name, getattr(thing, name)) for name in _slots_of(type(thing)) if hasattr(thing, name)]
    own = getattr(thing, "__dict__", None)
    if own:
        found += own.items()
    return found


def _reached(thing: Any) -> list[Any] | None:
    """What an object that is no container leads to; None: it has attributes of its own."""
    if isinstance(thing, _PLAIN) or _is_frozen(type(thing)):
        return []
    if isinstance(thing, tuple | frozenset):
        return list(thing)
    if isinstance(thing, types.MethodType):
        return [thing.__self__, thing.__func__]
    if isinstance(thing, types.FunctionType):
        return list(thing.__closure__ or ())
    if isinstance(thing, functools.partial):
        return [thing.func, thing.args, thing.keywords]
    if isinstance(thing, memoryview):
        return [thing.obj]
    if isinstance(thing, types.MappingProxyType):
        return list(thing.items())
    if isinstance(thing, Random) or not (hasattr(thing, "__dict__") or _slots_of(type(thing))):
        raise InternalError(f"the state of a Machine contains a {type(thing).__name__}, which cannot be kept")
    return None


def keep(root: Any) -> Memento:
    """All that a Machine reaches, as it is now. Raises InternalError for what cannot be put back."""
    kept: Memento = []
    seen: set[int] = set()
    stack = [root]
    while stack:
        thing = stack.pop()
        if id(thing) in seen:
            continue
        kind = type(thing)
        if kind in (int, str, bytes, float, bool, type(None)) or isinstance(thing, _DIGEST):
            continue
        seen.add(id(thing))
        if isinstance(thing, list | deque):
            content: Any = list(thing)
            stack += content
        elif isinstance(thing, dict):
            content = list(thing.items())
            for name, value in content:
                stack += (name, value)
            if hasattr(thing, "__dict__"):
                stack += vars(thing).values()
        elif isinstance(thing, set):
            content = list(thing)
            stack += content
        elif isinstance(thing, bytearray | array):
            content = thing[:]
        elif isinstance(thing, np.ndarray):
            base: Any = thing.base
            if base is not None and type(base) is not bytes:
                stack.append(base)
                continue
            content = thing.copy()
        elif isinstance(thing, types.CellType):
            try:
                content = thing.cell_contents
            except ValueError:
                continue
            stack.append(content)
        else:
            further = _reached(thing)
            if further is not None:
                stack += further
                kept.append((thing, None))  # lives as long as its id is meant
                continue
            content = [
                (name, value.copy() if isinstance(value, _DIGEST) else value) for name, value in fields_of(thing)
            ]
            stack += [value for _, value in content]
        kept.append((thing, content))
    return kept


def put_back(memento: Memento) -> None:
    """Every container has the content that it had at `keep`."""
    for thing, content in memento:
        if content is None:
            continue
        if isinstance(thing, list):
            thing[:] = content
        elif isinstance(thing, dict):
            dict.clear(thing)
            dict.update(thing, content)  # that of a Counter would add up
        elif isinstance(thing, deque):
            thing.clear()
            thing.extend(content)
        elif isinstance(thing, set):
            thing.clear()
            thing.update(content)
        elif isinstance(thing, bytearray | array):
            thing[:] = content
        elif isinstance(thing, np.ndarray):
            if thing.flags.writeable:
                thing[...] = content
        elif isinstance(thing, types.CellType):
            thing.cell_contents = content
        else:
            _put_fields(thing, content)


def _put_fields(thing: Any, content: list[tuple[str, Any]]) -> None:
    own = getattr(thing, "__dict__", None)
    if own is not None:
        own.clear()
    named = {name for name, _ in content}
    for name in _slots_of(type(thing)):
        if name not in named and hasattr(thing, name):
            delattr(thing, name)
    slots = _slots_of(type(thing))
    for name, kept in content:
        value = kept.copy() if isinstance(kept, _DIGEST) else kept
        if name in slots:
            object.__setattr__(thing, name, value)
        elif own is not None:
            own[name] = value


def described(root: Any, shown: Callable[[object, str], object]) -> list[Any]:
    """The state as a flat list of plain values. Two Machines with equal lists behave alike. An object that is reached
    twice has its number the second time. `shown`: as `testbed.states.forgotten.Forgotten`."""
    words: list[Any] = []
    numbers: dict[int, int] = {}
    alive: list[Any] = []

    def add(thing: Any) -> None:
        kind = type(thing)
        if kind in (int, str, bytes, float, bool, type(None)):
            words.append(thing)
            return
        if isinstance(thing, _PLAIN) or _is_frozen(kind):
            if isinstance(thing, Enum | np.generic):
                words.append(str(thing))
            return
        if isinstance(thing, _DIGEST):
            words.append(thing.hexdigest())
            return
        if isinstance(thing, tuple):
            words.append(("tuple", len(thing)))
            for each in thing:
                add(each)
            return
        if id(thing) in numbers:
            words.append(("again", numbers[id(thing)]))
            return
        numbers[id(thing)] = len(numbers)
        alive.append(thing)
        if isinstance(thing, list | deque):
            words.append((kind.__name__, len(thing)))
            for each in thing:
                add(each)
        elif isinstance(thing, dict):
            words.append(("dict", len(thing)))
            for name, value in thing.items():
                add(name)
                add(value)
        elif isinstance(thing, set | frozenset):
            words.append(("set", len(thing)))
            for each in sorted(thing, key=repr):
                add(each)
        elif isinstance(thing, bytearray):
            words.append(bytes(thing))
        elif isinstance(thing, array):
            words.extend(thing)
        elif isinstance(thing, np.ndarray):
            words.extend(thing.reshape(-1).tolist() if thing.dtype == np.int64 else [thing.tobytes()])
        elif isinstance(thing, types.CellType):
            try:
                add(thing.cell_contents)
            except ValueError:
                words.append("empty")
        else:
            further = _reached(thing)
            if further is not None:
                for each in further:
                    add(each)
                return
            words.append(kind.__qualname__)
            for name, value in fields_of(thing):
                instead = shown(thing, name)
                add(value if instead is SAME else instead)

    add(root)
    return words
