"""Shared fixtures: where oracle data is, and what this machine can do, and that signals arrive."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.register_assert_rewrite("tests.support")
"""so that what these assert tells the values, too"""

os.environ["COLUMNS"] = "160"
"""What is printed is folded to the width of the terminal; the tests read sentences, whatever that is (their own tests:
`tests/testbed/cli/test_screens.py`)."""

_ROOT = Path(__file__).resolve().parent.parent


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


@pytest.fixture
def heeded_signals() -> Iterator[None]:
    """Whoever started the tests in the background had SIGINT and SIGHUP ignored, and that is inherited."""
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = {number: signal.signal(number, signal.default_int_handler) for number in numbers}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)
