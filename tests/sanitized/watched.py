"""A plugin of pytest: no test runs unless the sanitized C core is what they load."""

from __future__ import annotations

from tests.sanitized.environment import check_sanitized

__all__ = ["pytest_sessionstart"]


def pytest_sessionstart() -> None:
    """Raises NotSanitized."""
    check_sanitized()
