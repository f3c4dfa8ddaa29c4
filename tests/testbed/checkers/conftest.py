"""A run in which all went well."""

from __future__ import annotations

import pytest

from testbed.checkers.context import CheckContext
from tests.support.judged import good_context


@pytest.fixture
def good() -> CheckContext:
    return good_context()
