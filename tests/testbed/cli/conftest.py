"""Commands that run in the process of their test give no sign of life, however long a busy machine takes over them
(those have their own tests: `tests/testbed/terminal/test_ticker.py`, `tests/testbed/cli/test_silence.py`)."""

from __future__ import annotations

import math

import pytest

from testbed.terminal import ticker


@pytest.fixture(autouse=True)
def _no_sign_of_life(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ticker, "SILENT_S", math.inf)
