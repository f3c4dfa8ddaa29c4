"""Shared fixtures: where oracle data is, and what this machine can do."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

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
