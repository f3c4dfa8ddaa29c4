"""What the fuzzer says of a finding, and that silence is not a pass."""

from __future__ import annotations

import sys

import pytest

from tests.sanitized import fuzz as module
from tests.support.native import needs_native

pytestmark = [pytest.mark.programs, needs_native("rc_fast")]
_BEGINS = 'print(\'{"begins": "rc jumbo", "chunk": 7}\', flush=True)'
_AGAIN = "once more: python -m tests.sanitized.fuzz --seed=3 '--path=rc jumbo' --chunk=7"


@pytest.mark.parametrize(
    ("program", "code", "told"),
    [
        (f"{_BEGINS}; raise SystemExit(99)", 1, f"fuzz: a sanitizer found something; {_AGAIN}\n"),
        (f"{_BEGINS}; raise SystemExit(1)", 1, f"fuzz: the process ended with 1; {_AGAIN}\n"),
        ("", 1, "fuzz: the process ended with 0\n"),
        ('print(\'{"ended": "rc", "chunk": 0, "counts": {"frames": 5}}\')', 0, ""),
    ],
)
def test_a_finding_names_the_command_that_plays_it_again(
    program: str, code: int, told: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(module, "_CHILD", (sys.executable, "-c", program))
    assert module.fuzz(100, seed=3) == code
    assert capfd.readouterr().err == told


def test_a_chunk_is_the_same_each_time(capfd: pytest.CaptureFixture[str]) -> None:
    said = []
    for _ in range(2):
        assert module.fuzz(1, 5, "forward", 3) == 0
        said.append(capfd.readouterr().out.splitlines()[0])
    assert said[0] == said[1]
    assert "taken by C" in said[0]
