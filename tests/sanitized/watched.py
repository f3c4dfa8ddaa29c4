"""A plugin of pytest: no test runs unless the sanitized C core is what they load."""

from __future__ import annotations

from tests.sanitized.environment import check_sanitized, guard_rows

__all__ = ["pytest_sessionstart"]


def pytest_sessionstart() -> None:
    """Raises NotSanitized. Rows of slots get redzones."""
    check_sanitized()
    guard_rows()
