"""Readers of a history: objects with a method for each kind of event that they use."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar, TypeVar

from testbed.history import Record, of_kinds
from workloads.machine import Event

__all__ = ["RecordReader", "reads"]

_E = TypeVar("_E", bound=Event)
_S = TypeVar("_S")
_Method = Callable[[_S, Record[_E]], None]


def reads(kind: type[_E]) -> Callable[[_Method[_S, _E]], _Method[_S, _E]]:
    """Marks the method of a RecordReader that is given records of this kind of event."""

    def mark(method: _Method[_S, _E]) -> _Method[_S, _E]:
        method.reads = kind  # type: ignore[attr-defined]
        return method

    return mark


class RecordReader:
    """A subclass may read a kind otherwise than its base does."""

    _methods: ClassVar[Mapping[type[Event], Callable[[Any, Any], None]]] = {}

    def __init_subclass__(cls) -> None:
        own = {method.reads: method for method in vars(cls).values() if hasattr(method, "reads")}
        cls._methods = {**cls._methods, **own}

    def read(self, history: Iterable[Record], without: frozenset[type[Event]] = frozenset()) -> None:
        """Records of other kinds, and of those in `without`, are passed over."""
        methods = {kind: method for kind, method in self._methods.items() if kind not in without}
        for record in of_kinds(history, *methods):
            methods[type(record.event)](self, record)
