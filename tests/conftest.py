"""Shared fixtures: where oracle data is, and what this machine can do, and that signals arrive."""

from __future__ import annotations

import gc
import os
import signal
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from testbed.doctor.programs import package_of
from tests import watchdog
from tests.bareroot.starts import note_starts
from tests.watchdog import pytest_runtest_protocol  # noqa: F401

pytest.register_assert_rewrite("tests.support")
"""so that what these assert tells the values, too"""

from tests.support.costs import Costs, known_costs  # noqa: E402
from tests.support.left_out import NEEDS, imports_left_out, lacking  # noqa: E402
from tests.support.native import MARKER, require_native  # noqa: E402
from tests.support.selection import mark_by_cost  # noqa: E402

# Where the environment forbids bytecode, each process that a test starts would compile hundreds of files.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# With these pytest prints whole differences: of 160 kB of bytes that takes longer than a test may.
for ci in ("CI", "BUILD_NUMBER"):
    os.environ.pop(ci, None)

os.environ["COLUMNS"] = "160"
"""What is printed is folded to the width of the terminal; the tests read sentences, whatever that is (their own tests:
 `tests/testbed/cli/test_screens.py`)."""

settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("untimed")

_ROOT = Path(__file__).resolve().parent.parent
_UNDECLARED: set[str] = set()
note_starts(lambda program: None if package_of(program) else _UNDECLARED.add(program))


@pytest.fixture(autouse=True)
def _programs_are_declared() -> Iterator[None]:
    """A program that a test starts is in testbed/doctor/programs.py, so that `./tb` installs it."""
    _UNDECLARED.clear()
    yield
    if _UNDECLARED:
        pytest.fail(f"started and not declared in testbed/doctor/programs.py: {', '.join(sorted(_UNDECLARED))}")


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """In a tree without a protocol, files that import its parts; in a whole tree none."""
    return True if collection_path.is_file() and imports_left_out(collection_path) else None


def pytest_configure(config: pytest.Config) -> None:
    watchdog.pytest_configure(config)
    if os.environ.get("TB_KEEP_COSTS"):
        config.pluginmanager.register(Costs())
    config.addinivalue_line("markers", f"{MARKER}(library): needs a library of the C core")
    config.addinivalue_line("markers", f"{NEEDS}(name, ...): skipped in a tree without one of these protocols")


def pytest_collection_finish(session: pytest.Session) -> None:
    """Modules and items are no garbage: without this, each full collection looks at a million of them. Emulated runs
    freeze and thaw by themselves."""
    if not any(item.get_closest_marker("root") for item in session.items):
        gc.collect()
        gc.freeze()


def pytest_runtest_setup(item: pytest.Item) -> None:
    if lacks := lacking(item):
        pytest.skip(f"this tree was made without {', '.join(sorted(lacks))}")
    for mark in item.iter_markers(MARKER):
        require_native(mark.args[0])


@pytest.fixture(scope="session")
def rxe_captures() -> Path:
    """Folder of our captures of the Linux rdma_rxe stack."""
    return _ROOT / "tests" / "data" / "rxe"


@pytest.fixture(scope="session")
def oracles() -> Path:
    """Folder of oracle data that is not in this repository; tests that need it skip where it is absent."""
    folder = Path(os.environ.get("INA_ORACLES", _ROOT.parent / "shared" / "oracles"))
    if not folder.is_dir():
        pytest.skip("the oracle folder is absent (set INA_ORACLES)")
    return folder


@pytest.fixture(autouse=True)
def _signals_arrive() -> Iterator[None]:
    """Whoever started the tests in the background had SIGINT and SIGHUP ignored, and that is inherited."""
    before = {number: signal.signal(number, signal.default_int_handler) for number in (signal.SIGINT, signal.SIGHUP)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Before `-m` selects. Of the tests with the mark `minutes`, one of `TB_ONE_OF` of the environment is tried, always
    the same ones."""
    mark_by_cost(items, known_costs())
    share = int(os.environ.get("TB_ONE_OF", "1"))
    left = [item for item in items if item.get_closest_marker("minutes") and zlib.crc32(item.nodeid.encode()) % share]
    if left:
        config.hook.pytest_deselected(items=left)
        gone = set(left)
        items[:] = [item for item in items if item not in gone]
