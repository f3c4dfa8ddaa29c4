"""What `./tb test` tries, and what only CI does: one of each kind at once, the others of the kind with the mark
`minutes`."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

import pytest

from tests.support.emulated import needs_root

__all__ = ["in_both_worlds", "some_at_once"]

_LATER = pytest.mark.minutes


def some_at_once(
    values: Iterable[Any], quick: Collection[Any] | None = None, *, late: Collection[Any] = ()
) -> list[Any]:
    """The values of a parameter. `quick`: those that are tried at once; None: all but `late`. Raises ValueError for one
    of them that is no value: a list that no longer tells the truth."""
    values = list(values)
    _check((*(quick or ()), *late), values)
    at_once = [value for value in values if value not in late] if quick is None else quick
    return [value if value in at_once else pytest.param(value, marks=_LATER) for value in values]


def in_both_worlds(values: Iterable[Any], emulated: Collection[Any]) -> list[Any]:
    """`value, world` for parametrize: each in virtual time; those of `emulated` between namespaces too, the others
    there only in CI. A value of several parameters is a tuple. Raises as `some_at_once`."""
    values = list(values)
    _check(emulated, values)
    found = []
    for value in values:
        parts = value if isinstance(value, tuple) else (value,)
        marks = needs_root if value in emulated else [*needs_root, _LATER]
        found += [pytest.param(*parts, "simulated"), pytest.param(*parts, "emulated", marks=marks)]
    return found


def _check(chosen: Iterable[Any], values: Collection[Any]) -> None:
    wrong = [value for value in chosen if value not in values]
    if wrong:
        raise ValueError(f"not among the values: {wrong}")
