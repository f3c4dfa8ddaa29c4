"""Which tests `./tb test`, `./tb test --fast` and CI try, by what they cost."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import costs
from tests.support.costs import known_costs, with_costs
from tests.support.selection import mark_by_cost

TOP = Path(__file__).resolve().parents[1]
PLAIN = TOP / "tests" / "test_watchdog.py"
PLANTED = TOP / "tests" / "testbed" / "hunt" / "test_mutants.py"


class Item:
    """What a collected test shows to the selection."""

    def __init__(self, name: str, *marks: str, path: Path = PLAIN) -> None:
        self.name, self.nodeid, self.path = name, f"{path.name}::{name}", path
        self.own_markers = [getattr(pytest.mark, mark).mark for mark in marks]

    def get_closest_marker(self, name: str) -> pytest.Mark | None:
        return next((mark for mark in self.own_markers if mark.name == name), None)

    def add_marker(self, name: str) -> None:
        self.own_markers.append(getattr(pytest.mark, name).mark)


def marked(*items: Item, **seconds: float) -> list[set[str]]:
    """The marks of tests that cost this."""
    mark_by_cost(items, {item.path.name: seconds for item in items})  # type: ignore[misc, arg-type]
    return [{mark.name for mark in item.own_markers} for item in items]


def test_a_test_that_costs_much_is_for_ci() -> None:
    assert marked(Item("a"), Item("b"), Item("c"), a=1.1, b=1.0) == [{"long"}, set(), {"quick"}]


def test_further_cases_may_cost_less() -> None:
    costs = {"a[0]": 0.9, "a[1]": 0.8, "a[2]": 0.3, "b[0]": 0.9, "b[1]": 0.8}
    found = marked(*map(Item, [*costs, "c"]), **costs)
    assert found == [{"long"}, {"long"}, set(), {"long"}, set(), {"quick"}]


def test_the_cheapest_of_a_file_may_cost_more_in_each_part() -> None:
    found = marked(Item("a"), Item("b"), Item("c", "root"), Item("d", "ebpf"), a=3, b=2, c=5.1, d=5)
    assert found == [{"long"}, set(), {"root", "long"}, {"ebpf"}]
    assert marked(Item("a"), a=5.1) == [{"long"}]


def test_a_test_that_owns_the_machine_may_take_longer() -> None:
    costs = {"a[0]": 2.0, "a[1]": 1.0, "b": 2.0, "c": 2.1}
    found = marked(*(Item(name, "rxe") for name in [*costs, "d"]), **costs)
    assert found == [{"rxe", "long"}, {"rxe"}, {"rxe"}, {"rxe", "long"}, {"rxe"}]


def test_what_tests_share_counts_for_all_of_the_file() -> None:
    costs = {"a": 0.2, "": 10.1}
    assert marked(Item("a"), Item("b"), Item("c", "root"), **costs) == [{"long"}, {"long"}, {"root", "long"}]
    assert marked(Item("a"), Item("b"), a=0.2, **{"": 10.0}) == [set(), set()], "and none of them is quick"


def test_what_finds_planted_bugs_is_tried_however_much_it_costs() -> None:
    here = Item("test_a_bug_is_found"), Item("b")
    assert marked(*here, test_a_bug_is_found=9.0) == [{"long"}, {"quick"}]
    there = Item("test_a_bug_is_found", path=PLANTED), Item("test_others", path=PLANTED), Item("b", path=PLANTED)
    assert marked(*there, test_a_bug_is_found=9.0, test_others=9.0) == [set(), {"long"}, {"quick"}]


def test_a_mark_by_hand_outweighs_costs() -> None:
    assert marked(Item("a", "minutes"), Item("b", "minutes"), Item("c"), a=9.0) == [{"minutes"}, {"minutes"}, {"quick"}]


def test_the_first_quick_case_of_a_test_is_quick() -> None:
    items = Item("a[0]"), Item("a[1]"), Item("a[2]"), Item("b[0]", "root")
    assert marked(*items, **{"a[0]": costs.NOTABLE_S}) == [set(), {"quick"}, set(), {"root"}]


def test_what_finds_planted_bugs_and_is_known_to_cost_little_needs_no_minutes() -> None:
    names = "test_a_bug_is_found[known]", "test_a_bug_is_found[dear]", "test_a_bug_is_found[unknown]", "test_others"
    items = [Item(name, "minutes", path=PLANTED) for name in names]
    costs = {names[0]: 0.0, names[1]: 0.4, names[3]: 0.0}
    assert marked(*items, **costs) == [{"quick"}, {"minutes"}, {"minutes"}, {"minutes"}]


def test_costs_are_replaced_and_small_ones_noted_where_they_matter() -> None:
    known = {"b.py": {"x": 1.0, "y": 2.0}}
    noted = {"b.py::x": 0.01, "a.py::C::new[p::q]": 3.26, "a.py::small": 0.02, "a.py::hunt": 0.02}
    assert with_costs(known, noted, {"a.py::hunt"}) == {
        "a.py": {"C::new[p::q]": 3.3, "hunt": 0.0},
        "b.py": {"x": 0.0, "y": 2.0},
    }


@pytest.mark.parametrize("processes", [[], ["-n", "2"]])
def test_a_run_notes_what_its_tests_cost(tmp_path: Path, processes: list[str]) -> None:
    """Processor time of the test and of what it started; wall-clock time of one that owns the machine."""
    (tmp_path / "test_some.py").write_text(
        "import subprocess, sys, time, pytest\n"
        "BUSY = 'import time\\nwhile time.process_time() < 0.6: pass'\n"
        "def test_cheap(): time.sleep(0.3)\n"
        "def test_dear(): subprocess.run([sys.executable, '-c', BUSY])\n"
        "@pytest.mark.root\ndef test_waits(): time.sleep(0.3)\n"
        "@pytest.fixture(scope='module')\ndef inner(): subprocess.run([sys.executable, '-c', BUSY])\n"
        "@pytest.fixture(scope='module')\ndef made(inner): subprocess.run([sys.executable, '-c', BUSY])\n"
        "def test_first(made): pass\n"
        "def test_second(made): pass\n"
    )
    (tmp_path / "conftest.py").write_text(
        "from pathlib import Path\nfrom tests.support import costs\n"
        "costs.FILE = Path(__file__).parent / 'costs.json'\n"
        "def pytest_configure(config): config.pluginmanager.register(costs.Costs())\n"
    )
    (tmp_path / "costs.json").write_text("{}")
    words = ["-c", str(TOP / "setup.cfg"), "--rootdir", str(tmp_path), "-p", "no:cacheprovider", *processes]
    done = subprocess.run(
        [sys.executable, "-P", "-m", "pytest", *words, str(tmp_path)], cwd=TOP,
        env={"PYTHONPATH": str(TOP), "PATH": os.environ["PATH"]},
        capture_output=True, text=True, timeout=100, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    ((file, found),) = json.loads((tmp_path / "costs.json").read_text()).items()
    assert file.endswith("test_some.py")
    assert set(found) == {"", "test_dear", "test_waits"}
    assert 1.2 <= found[""] < 9
    assert 0.6 <= found["test_dear"] < 5
    assert found["test_waits"] >= 0.3


@pytest.mark.protocols("all")
def test_files_of_the_costs_are_there() -> None:
    known = known_costs()
    assert sum(map(len, known.values())) > 500
    assert [file for file in known if not (TOP / file).is_file()] == []
