"""Files of users with one key removed or set to what it cannot be."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from testbed.reading.problems import InvalidScenario
from workloads.errors import ScenarioError
from workloads.visible import visible

__all__ = ["BAD", "REMOVED", "Path_", "at", "check_text", "count_spoiled", "count_used", "drawn", "paths_of", "spoiled"]

BAD = (
    "null", '""', "abc", "-1", "0", "1", "1.5", "1e3", "1e400", "-1e400", ".inf", ".nan", '"nan"', "9" * 30, "9" * 5000,
    "1e-9", "[]", "{}", "[1]", "[[1]]", "[null]", "[{}]", "{a: 1}", "true", "2024-01-01", "12:30", "0x10", "1_000",
    '"1e3"', '"0x10"', '"1_000"', '"\\ud800"', '"\\0\\e[31m"', '"' + "x" * 5000 + '"', '"../x"', "auto", "all",
    "1GB", "1ns", "60min", "100%", "[h1]", "[h1, h1]", "h1", "s1", "512", "mine.py:X",
)  # fmt: skip
"""as YAML"""
REMOVED = "removed"
_MARK = "@@"
_MOST_S = 20.0
Path_ = tuple[str | int, ...]


def paths_of(data: Any, path: Path_ = ()) -> Iterator[Path_]:
    items = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, item in items:
        yield (*path, key)
        yield from paths_of(item, (*path, key))


def at(data: Any, path: Path_) -> Any:
    for key in path:
        data = data[key]
    return data


def drawn(name: str, words: Path_, share: int) -> bool:
    return int.from_bytes(hashlib.sha256(repr((name, words)).encode()).digest()[:4]) % share == 0


def spoiled(data: Any, path: Path_, bad: str) -> str:
    """As JSON, which is YAML."""
    data = json.loads(json.dumps(data))
    section = at(data, path[:-1])
    if bad == REMOVED:
        del section[path[-1]]
        return json.dumps(data)
    section[path[-1]] = _MARK
    return json.dumps(data).replace(f'"{_MARK}"', bad)


def count_spoiled(name: str, data: Any, share: int, use: Callable[[str], object]) -> int:
    """As `count_used`, of one of `share` cases of a file that holds `data`."""
    cases = [
        ((name, path, bad), spoiled(data, path, bad))
        for path in paths_of(data)
        for bad in (REMOVED, *BAD)
        if drawn(name, (*path, bad), share)
    ]
    return count_used(cases, use)


def count_used(cases: Iterable[tuple[tuple[str, Path_, str], str]], use: Callable[[str], object]) -> int:
    """Of each case's text `use` makes something soon, or it names the file in a ScenarioError. How many cases."""
    count, wrong = 0, []
    for (name, path, bad), text in cases:
        count += 1
        began = time.process_time()
        try:
            use(text)
        except ScenarioError as error:
            check_text(error, (name, path, bad[:40]))
        except Exception as error:
            wrong.append(f"{name} {path} {bad[:40]}: {type(error).__name__}: {error}")
        assert time.process_time() - began < _MOST_S, (name, path, bad[:40])
    assert not wrong, wrong[:20]
    return count


def check_text(error: ScenarioError, case: object) -> None:
    problems = error.problems if isinstance(error, InvalidScenario) else (error,)
    for each in problems:
        assert each.file, case
        assert each.key or each.line or "no node can be made" in each.problem, case
        assert visible(str(each)) == str(each), case
        assert len(str(each)) < 20_000, case
