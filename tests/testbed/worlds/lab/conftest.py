"""One emulated lab of two workers and a card for the tests of this folder."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from testbed.lab.emulated.shape import LabShape
from tests.support.labs import lab_of, require_lab


@pytest.fixture(scope="session")
def run_lab() -> Iterator[Path]:
    require_lab()
    with lab_of(LabShape(f"w{os.getpid()}", hosts=2)) as inventory:
        yield inventory


@pytest.fixture(scope="session")
def state(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the one user of these tests has his secret."""
    return tmp_path_factory.mktemp("state")
