"""What `./tb test` tries, and what only CI does.

By hand: one of each kind at once, the others of the kind with the mark `minutes`. By cost (`tests.support.costs`):
`mark_by_cost` gives the marks `long` and `quick`.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.support.costs import NOTABLE_S, owns_the_machine
from tests.support.emulated import needs_root
from tests.support.left_out import left_out

__all__ = ["in_both_worlds", "mark_by_cost", "some_at_once"]

_LATER = pytest.mark.minutes


@dataclass(frozen=True)
class Most:
    """Seconds that a test may cost in `./tb test`; CI tries those that cost more."""

    case: float
    function: float
    """Limit of the cheapest case of a function"""
    file: float
    """Limit of the cheapest test of a file"""
    shared: float
    """Limit of what the tests of a file share"""


SHARING, OWNING = Most(0.3, 1.0, 5.0, 10.0), Most(1.0, 2.0, 5.0, 10.0)
"""Tests that share the processors, in CPU time; those that own the machine, in wall-clock time"""
_PLANTS = re.compile(r"_(?:mutants|planted)\b")
"""Modules of `tests/support` in the source of a file that plants bugs"""
_FINDS = re.compile("planted|mutant|broken|wrong|caught|bug|turns_red|changes_something")
"""In the name of a test there that finds one"""


def mark_by_cost(items: Iterable[pytest.Item], costs: Mapping[str, Mapping[str, float]]) -> None:
    """`long`: it costs more than `./tb test` may spend on it, and it finds no planted bug. `quick`: the first case of a
    test that shares the processors and costs little. A test that finds a planted bug loses the mark `minutes` if it is
    known to cost little."""
    found: list[tuple[pytest.Item, Most, float, str, str]] = []
    least: dict[str, float] = defaultdict(lambda: math.inf)
    seen = set()
    for item in items:
        file, _, name = item.nodeid.partition("::")
        owns, known = owns_the_machine(item), costs.get(file, {}).get(name)
        most, cost = OWNING if owns else SHARING, known or 0.0
        if item.get_closest_marker("minutes"):
            if known is None or cost > most.case or not _finds(item):
                continue
            item.own_markers[:] = [mark for mark in item.own_markers if mark.name != "minutes"]
        function, part = item.nodeid.partition("[")[0], f"{file} {owns}"
        for group in (function, part):
            least[group] = min(least[group], cost)
        found.append((item, most, cost, function, part))
        if function not in seen and max(cost, costs.get(file, {}).get("", 0.0)) < NOTABLE_S and not owns:
            seen.add(function)
            item.add_marker("quick")
    for item, most, cost, function, part in found:
        limit = most.function if cost <= least[function] else most.case
        dear = cost > (most.file if cost <= least[part] else limit)
        if (dear or costs.get(part.partition(" ")[0], {}).get("", 0.0) > most.shared) and not _finds(item):
            item.add_marker("long")


def _finds(item: pytest.Item) -> bool:
    return bool(_FINDS.search(item.name.partition("[")[0])) and _plants(item.path)


@cache
def _plants(path: Path) -> bool:
    return _PLANTS.search(path.read_text(encoding="utf-8")) is not None


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
    wrong = [value for value in chosen if value not in values and value not in left_out()]
    if wrong:
        raise ValueError(f"not among the values: {wrong}")
