"""Values that are drawn when a test first asks for them: collecting the tests draws none."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import TypeVar, overload

__all__ = ["Drawn"]

T = TypeVar("T")


class Drawn(Sequence[T]):
    """`draw(number)` for each number below `count`, each drawn once."""

    def __init__(self, count: int, draw: Callable[[int], T]) -> None:
        self._numbers, self._draw = range(count), cache(draw)

    def __len__(self) -> int:
        return len(self._numbers)

    @overload
    def __getitem__(self, index: int) -> T: ...

    @overload
    def __getitem__(self, index: slice) -> list[T]: ...

    def __getitem__(self, index: int | slice) -> T | list[T]:
        found = self._numbers[index]
        return self._draw(found) if isinstance(found, int) else [self._draw(number) for number in found]
