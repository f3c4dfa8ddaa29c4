"""What each test costs, noted where `TB_KEEP_COSTS` is set, for `tests.support.selection` to choose by.

`tests/data/costs.json` has the tests of each file that cost 0.1 s and more, and all that had the mark `minutes`.
What tests share (fixtures of a module, class or session) has no name in its file, and is no test's cost.
`TB_KEEP_COSTS=1` in the environment replaces the costs of the tests that ran. Set it on an idle machine.
"""

from __future__ import annotations

import json
import os
import time
from collections import defaultdict
from collections.abc import Collection, Generator, Mapping
from pathlib import Path

import pytest

__all__ = ["FILE", "NOTABLE_S", "OWNING", "Costs", "known_costs", "owns_the_machine", "with_costs"]

FILE = Path(__file__).resolve().parents[1] / "data" / "costs.json"
NOTABLE_S = 0.1
OWNING = ("root", "mininet", "ebpf", "rxe")
"""marks of tests that run one after the other"""
_OWN, _SHARED = "own_s", "shared_s"
_Known = Mapping[str, Mapping[str, float]]


def known_costs() -> _Known:
    """Seconds, by file and by the rest of the node's name ("": what tests share). CPU time, or wall-clock time if the
    test owns the machine. Empty in a copy of a part of the tree."""
    known: _Known = json.loads(FILE.read_text(encoding="utf-8")) if FILE.is_file() else {}
    return known


def with_costs(known: _Known, noted: Mapping[str, float], always: Collection[str] = ()) -> _Known:
    """`known` with the costs by node's name that were noted. Small ones are new only for the names in `always`."""
    found = {file: dict(costs) for file, costs in known.items()}
    for node, seconds in noted.items():
        file, _, name = node.partition("::")
        if seconds >= NOTABLE_S or node in always or name in found.get(file, {}):
            found.setdefault(file, {})[name] = round(seconds, 1)
    return {file: dict(sorted(costs.items())) for file, costs in sorted(found.items())}


def owns_the_machine(item: pytest.Item) -> bool:
    return any(item.get_closest_marker(mark) for mark in OWNING)


class Costs:
    """A plug-in of pytest. Processes of `-n` hand their costs to the one that started them."""

    def __init__(self) -> None:
        self._item: pytest.Item | None = None
        self._began = self._shared = 0.0
        self._inside = False
        self._noted: dict[str, float] = defaultdict(float)
        self._always: set[str] = set()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        self._item, self._began, self._shared = item, _clock(item), 0.0
        return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[object]) -> Generator[None, object, object]:
        if fixturedef.scope == "function" or self._inside or self._item is None:
            return (yield)
        self._inside, began = True, _clock(self._item)
        try:
            return (yield)
        finally:
            self._inside = False
            self._shared += _clock(self._item) - began

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        if call.when == "teardown":
            spent = _clock(item) - self._began - self._shared
            report.user_properties += [(_OWN, spent), (_SHARED, self._shared)]
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        found = dict(report.user_properties)
        if isinstance(own := found.get(_OWN), float) and isinstance(shared := found.get(_SHARED), float):
            self._noted[report.nodeid] = own
            self._noted[f"{report.nodeid.partition('::')[0]}::"] += shared
            if "minutes" in report.keywords:
                self._always.add(report.nodeid)

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if not hasattr(session.config, "workerinput"):
            found = with_costs(known_costs(), self._noted, self._always)
            FILE.write_text(json.dumps(found, indent=0, ensure_ascii=False) + "\n", encoding="utf-8")


def _clock(item: pytest.Item) -> float:
    """Of processors, with ended children: other tests do not count. Tests that own the machine mostly wait."""
    if owns_the_machine(item):
        return time.monotonic()
    spent = os.times()
    return spent.user + spent.system + spent.children_user + spent.children_system
