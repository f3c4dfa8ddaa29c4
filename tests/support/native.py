"""What tests of the C core need: they skip where there is no compiler, and fail where there is one that fails."""

from __future__ import annotations

from collections.abc import Sequence
from ctypes import CDLL
from pathlib import Path

import pytest

from workloads.native.build import load_library, native_status

__all__ = ["MARKER", "needs_native", "require_native"]

MARKER = "needs_native"


def needs_native(name: str) -> pytest.MarkDecorator:
    """The mark of tests that need this library of `LIBRARIES`; `tests/conftest.py` heeds it before each of them."""
    return getattr(pytest.mark, MARKER)(name)


def require_native(name: str, sources: Sequence[Path] | None = None, flags: Sequence[str] = ()) -> CDLL:
    """The library. The test is skipped where the C core is switched off or this machine has no compiler. It fails where
    a compiler is there and fails: otherwise a C file that does not compile would pass the suite."""
    library = load_library(name, sources, flags=flags)
    if library is not None:
        return library
    status = native_status()[name]
    if status.failed:
        pytest.fail(f"the library {name} cannot be built: {status.detail}\n{status.output}", pytrace=False)
    pytest.skip(f"the Python reference runs alone: {status.detail}")
