"""One parameter of a sweep file -> its values: a single one, a list, or a range. Ranges are counted before they are
made."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from testbed.reading.problems import KeyPath, Problems, closest, show
from testbed.reading.units import UnitError
from testbed.sweeps.parameters import Parameter

__all__ = ["SweepAxis", "read_axis"]

_HOW = ("factor", "points", "step")
_RANGE_KEYS = ("from", "to", *_HOW)


@dataclass(frozen=True, slots=True)
class SweepAxis:
    count: int
    make: Callable[[], Iterator[int]]
    """the values, in base units; only to be called once the count is known to be bearable"""


def read_axis(problems: Problems, path: KeyPath, value: Any, parameter: Parameter) -> SweepAxis | None:
    """None when there are problems; they are reported."""
    if isinstance(value, dict):
        return _range(problems, path, value, parameter)
    if isinstance(value, list):
        if not value:
            problems.add(path, "an empty list", allowed="at least one value")
            return None
        read = [_one(problems, (*path, index), item, parameter) for index, item in enumerate(value)]
        values = [item for item in read if item is not None]
        if len(values) < len(read):
            return None
        twice = next((item for item in values if values.count(item) > 1), None)
        if twice is not None:
            problems.add(path, "a value stands twice", found=parameter.show(twice), allowed="each value once")
            return None
        return SweepAxis(len(values), lambda: iter(values))
    single = _one(problems, path, value, parameter)
    return None if single is None else SweepAxis(1, lambda: iter([single]))


def _one(problems: Problems, path: KeyPath, value: Any, parameter: Parameter) -> int | None:
    try:
        number = parameter.parse(value)
    except UnitError as error:
        problems.add(path, error.problem, found=show(value), allowed=error.allowed, hint=error.hint)
        return None
    if not max(parameter.low, 0) <= number <= parameter.high:
        problems.add(path, "out of range", found=show(value), allowed=parameter.allowed)
        return None
    return number


def _range(problems: Problems, path: KeyPath, value: dict[str, Any], parameter: Parameter) -> SweepAxis | None:
    unknown = [key for key in value if key not in _RANGE_KEYS]
    for key in unknown:
        hint = closest(key, _RANGE_KEYS)
        problems.add((*path, key), "unknown key of a range", allowed=", ".join(_RANGE_KEYS), hint=hint)
    how = [key for key in _HOW if key in value]
    if not unknown and (len(how) != 1 or "from" not in value or "to" not in value):
        found = ", ".join(value) or "nothing"
        problems.add(path, "not a range", found=found, allowed="from, to, and one of factor, points, step")
    if unknown or len(how) != 1 or "from" not in value or "to" not in value:
        return None
    start, stop = (_one(problems, (*path, key), value[key], parameter) for key in ("from", "to"))
    if start is None or stop is None:
        return None
    if start > stop:
        problems.add(path, "ends before it begins", found=f"{show(value['from'])} to {show(value['to'])}")
        return None
    if how[0] != "step" and start == 0:
        problems.add((*path, "from"), "a range of factors cannot begin at 0", allowed="more than 0, or step")
        return None
    here, given = (*path, how[0]), value[how[0]]
    if how[0] == "step":
        step = _one(problems, here, given, replace(parameter, low=1))
        return SweepAxis((stop - start) // step + 1, lambda: iter(range(start, stop + 1, step))) if step else None
    if how[0] == "points":
        if isinstance(given, bool) or not isinstance(given, int) or given < 2:
            problems.add(here, "not a number of points", found=show(given), allowed="a whole number, at least 2")
            return None
        return SweepAxis(given, lambda: _geometric(start, (stop / start) ** (1 / (given - 1)), given))
    if isinstance(given, bool) or not isinstance(given, (int, float)) or not 1 < given < math.inf:
        problems.add(here, "not a factor", found=show(given), allowed="a number above 1")
        return None
    count = int(math.log(stop / start) / math.log(given) + 1e-9) + 1
    return SweepAxis(count, lambda: _geometric(start, float(given), count))


def _geometric(start: int, factor: float, count: int) -> Iterator[int]:
    """Rounded to whole base units; what rounds to the same comes once."""
    last = None
    for index in range(count):
        value = round(start * factor**index)
        if value != last:
            yield value
        last = value
