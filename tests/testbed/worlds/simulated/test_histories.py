"""Histories are what they were before Machines were written for two speeds (`tests/support/golden_histories.py`)."""

from __future__ import annotations

import pytest

from tests.support.golden_histories import known, runs, seen

KNOWN = known()
QUICK = ("switchml 1", "lossy", "two-jobs 1", "uc-lossy 1", "uc 1", "traced 1", "int32 1", "clocks 1", "marked 1",
         "short-queue 1", "delayed 1", "trimmed", "one", "hosts-32", "heavy-loss 1", "uc-faults")  # fmt: skip


@pytest.mark.parametrize(
    ("name", "scenario", "overrides", "seed"),
    [
        pytest.param(*run, id=run[0], marks=() if run[0].startswith((*QUICK, "faults")) else pytest.mark.minutes)
        for run in runs()
    ],
)
def test_the_history_is_as_it_was(name: str, scenario: str, overrides: tuple[str, ...], seed: int) -> None:
    assert seen(scenario, overrides, seed) == KNOWN[name]


def test_the_interpreted_loop_tells_the_same() -> None:
    for name, scenario, overrides, seed in runs():
        if name in ("lossy 1", "uc-lossy 1", "trimmed 1"):
            assert seen(scenario, overrides, seed, native=False) == KNOWN[name]
