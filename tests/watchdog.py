"""What pytest-timeout cannot end: a test that hangs in C, where no handler of Python runs, ends the process with all
stacks."""

from __future__ import annotations

import faulthandler
import os
from collections.abc import Generator
from typing import TextIO

import pytest

__all__ = ["limit_of", "pytest_configure", "pytest_runtest_protocol"]

_STDERR: list[TextIO] = []


def pytest_configure(config: pytest.Config) -> None:
    # Where pytest writes, not where it leads the output of tests.
    if not _STDERR:
        _STDERR.append(os.fdopen(os.dup(2), "w"))


def limit_of(item: pytest.Item) -> float:
    """Seconds that pytest-timeout grants this test; 0: any."""
    marker = item.get_closest_marker("timeout")
    if marker is not None and marker.args:
        return float(marker.args[0])
    given = item.config.getoption("timeout", None)
    return float(item.config.getini("timeout") or 0 if given is None else given)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    limit = limit_of(item)
    if limit:
        faulthandler.dump_traceback_later(1 + 1.1 * limit, exit=True, file=_STDERR[0])
    try:
        return (yield)
    finally:
        faulthandler.cancel_dump_traceback_later()
