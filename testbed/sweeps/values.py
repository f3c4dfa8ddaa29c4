"""Values of one key of a scenario, as a sweep writes them: a single one, a list, or a range with a unit. The values of
the models' parameters are written in the same way (axes.py), but have types of their own."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from typing import Any

from testbed.reading.problems import KeyPath, Problems, closest, show
from testbed.reading.units import UnitError, parse_duration, parse_probability, parse_rate, parse_size
from testbed.reading.yamlfile import parse_yaml
from workloads.errors import ScenarioError
from workloads.visible import visible

__all__ = ["AXIS_FILE", "MOST_VALUES", "number_of", "parse_axis", "read_values", "shown_value", "split_axis"]

AXIS_FILE = "--axis"
MOST_VALUES = 10_000
"""most values of one key"""
_FORM = "KEY=VALUE,VALUE,... or KEY={from: A, to: B, points: N}, as faults.loss.rate=0,1%,5%"
_RANGES = "values with commas, as 0,1,2; or {from: 0, to: 2, step: 1}; or points or factor in place of step"
_COLONS = re.compile(r"[-+0-9][^\[\]{},\s]*(?::|\.\.)[^\[\]{},\s]+(?:(?::|\.\.)[^\[\]{},\s]+)?\Z")
"""a range as other programs write it"""
_HOW = ("factor", "points", "step")
_RANGE_KEYS = ("from", "to", *_HOW)
_QUANTITY = re.compile(r"([-+]?[0-9]+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]{1,3})?)\s*([A-Za-z%]*)\Z", re.ASCII)
_PARSERS: tuple[Callable[[object], float], ...] = (parse_probability, parse_rate, parse_duration, parse_size)


def split_axis(text: str) -> tuple[str, Any]:
    """`KEY=VALUES` of a command line -> (key, values as a sweep file would hold them). Raises ScenarioError."""
    key, equals, values = text.partition("=")
    if not equals or not key.strip() or not values.strip():
        raise ScenarioError("not an axis", file=AXIS_FILE, found=show(text), allowed=_FORM)
    return key.strip(), parse_axis(values.strip())


def parse_axis(text: str) -> Any:
    """`1%,2%`, `[1%, 2%]` or `{from: 1%, to: 5%, step: 1%}` as data. Raises ScenarioError."""
    if _COLONS.match(text):
        raise ScenarioError("not a list of values or a range", file=AXIS_FILE, found=show(text), allowed=_RANGES)
    inner = text if text[:1] in ("[", "{") else f"[{text}]"
    data, _ = parse_yaml(inner, AXIS_FILE)
    return data[0] if isinstance(data, list) and len(data) == 1 else data


def read_values(problems: Problems, path: KeyPath, value: Any) -> tuple[Any, ...] | None:
    """None when there are problems; they are reported."""
    if isinstance(value, dict):
        return _range(problems, path, value)
    values = value if isinstance(value, list) else [value]
    if not values:
        problems.add(path, "an empty list", allowed="at least one value")
        return None
    if len(values) > MOST_VALUES:
        problems.add(path, "too many values", found=f"{len(values):,}", allowed=f"at most {MOST_VALUES:,}")
        return None
    for index, item in enumerate(values):
        if values.index(item) != index:
            problems.add(path, "a value stands twice", found=shown_value(item), allowed="each value once")
            return None
    return tuple(values)


def shown_value(value: Any) -> str:
    """In a table or a plot, as its author wrote it."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return f"[{', '.join(map(shown_value, value))}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{key}: {shown_value(item)}' for key, item in value.items())}}}"
    return visible(str(value))


def number_of(value: Any) -> float | None:
    """Where a value stands on an axis of numbers: in bits per second, bytes, nanoseconds, as a share, or as it is.
    None: a word."""
    if isinstance(value, bool) or value is None or isinstance(value, list | dict):
        return None
    if isinstance(value, int | float):
        return float(value)
    for parse in _PARSERS:
        try:
            return float(parse(value))
        except UnitError:
            continue
    return None


def _range(problems: Problems, path: KeyPath, value: dict[str, Any]) -> tuple[Any, ...] | None:
    unknown = [key for key in value if key not in _RANGE_KEYS]
    for key in unknown:
        hint = closest(key, _RANGE_KEYS)
        problems.add((*path, key), "unknown key of a range", allowed=", ".join(_RANGE_KEYS), hint=hint)
    how = [key for key in _HOW if key in value]
    if unknown:
        return None
    if len(how) != 1 or "from" not in value or "to" not in value:
        found = ", ".join(value) or "nothing"
        problems.add(path, "not a range", found=found, allowed="from, to, and one of factor, points, step")
        return None
    ends = [_quantity(problems, (*path, key), value[key]) for key in ("from", "to")]
    if ends[0] is None or ends[1] is None:
        return None
    (start, unit), (stop, other) = ends[0], ends[1]
    if start == 0 and not unit:  # zero needs none
        unit = other
    if unit != other:
        problems.add(path, "two units", found=f"{show(value['from'])} to {show(value['to'])}", allowed="one unit")
        return None
    if start > stop:
        problems.add(path, "ends before it begins", found=f"{show(value['from'])} to {show(value['to'])}")
        return None
    if how[0] != "step" and start <= 0:
        problems.add((*path, "from"), "a range of factors cannot begin at 0", allowed="more than 0, or step")
        return None
    numbers = _numbers(problems, (*path, how[0]), value[how[0]], start, stop, unit)
    return None if numbers is None else tuple(_spell(number, unit) for number in numbers)


def _numbers(
    problems: Problems, here: KeyPath, given: Any, start: float, stop: float, unit: str
) -> Sequence[float] | None:
    how = here[-1]
    if how == "points":
        if isinstance(given, bool) or not isinstance(given, int) or not 2 <= given <= MOST_VALUES:
            problems.add(
                here, "not a number of points", found=show(given), allowed=f"a whole number, 2 to {MOST_VALUES:,}"
            )
            return None
        return [start * (stop / start) ** (index / (given - 1)) for index in range(given)]
    if how == "factor":
        if isinstance(given, bool) or not isinstance(given, int | float) or not 1 < given < math.inf:
            problems.add(here, "not a factor", found=show(given), allowed="a number above 1")
            return None
        count = int(math.log(stop / start) / math.log(given) + 1e-9) + 1
        return _bearable(problems, here, count) and [start * given**index for index in range(count)]
    step = _quantity(problems, here, given)
    if step is None:
        return None
    if step[0] <= 0 or step[1] != unit:
        problems.add(here, "not a step", found=show(given), allowed=f"more than 0, with unit {unit or 'none'}")
        return None
    count = int((stop - start) / step[0] + 1e-9) + 1
    return _bearable(problems, here, count) and [start + step[0] * index for index in range(count)]


def _bearable(problems: Problems, here: KeyPath, count: int) -> Any:
    """True or None."""
    if count > MOST_VALUES:
        problems.add(here, "too many values", found=f"{count:,}", allowed=f"at most {MOST_VALUES:,}")
        return None
    return True


def _quantity(problems: Problems, path: KeyPath, value: Any) -> tuple[float, str] | None:
    found = None if isinstance(value, bool) else _QUANTITY.match(str(value))
    if found is None:
        problems.add(path, "not a quantity", found=show(value), allowed="a number, with a unit if it has one, as 5%")
        return None
    return float(found[1]), found[2]


def _spell(number: float, unit: str) -> Any:
    """Six digits; a whole number without a unit stays one."""
    text = f"{number:.6g}" if "e" not in f"{number:.6g}" else f"{number:f}".rstrip("0").rstrip(".")
    if unit:
        return f"{text}{unit}"
    return int(text) if "." not in text else float(text)
