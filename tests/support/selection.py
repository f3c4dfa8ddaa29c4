"""What `./tb test` tries, and what only CI does: one of each kind at once, the others of the kind with the mark
`minutes`."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable
from typing import Any

import pytest

from tests.support.emulated import needs_root

__all__ = ["in_both_worlds", "some_at_once"]

_LATER = pytest.mark.minutes
_ASKED_FOR = pytest.mark.skipif("TB_EVERYTHING" not in os.environ, reason="TB_EVERYTHING=1 tries all of them")


def some_at_once(
    values: Iterable[Any], quick: Collection[Any] | None = None, *, late: Collection[Any] = (), halved: bool = False
) -> list[Any]:
    """The values of a parameter. `quick`: those that are tried at once; None: all but `late`. `halved`: of the others
    CI tries every second one. Raises ValueError for one of them that is no value: a list that no longer tells the
    truth."""
    values = list(values)
    _check((*(quick or ()), *late), values)
    at_once = [value for value in values if value not in late] if quick is None else quick
    others = [value for value in values if value not in at_once]
    left_out = others[1::2] if halved else []
    marks = [[] if value in at_once else [_LATER, *([_ASKED_FOR] if value in left_out else [])] for value in values]
    return [
        pytest.param(*(value if isinstance(value, tuple) else (value,)), marks=of)
        for value, of in zip(values, marks, strict=True)
    ]


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
