"""Histories are what they were before Machines were written for two speeds (`tests/support/golden_histories.py`)."""

from __future__ import annotations

import pytest

from tests.support.golden_histories import FAMILIES, known, runs, seen
from tests.support.left_out import left_out

KNOWN = {family: known(family) for family in FAMILIES}
QUICK = ("switchml 1", "lossy", "two-jobs 1", "uc-lossy 1", "uc 1", "traced 1", "int32 1", "clocks 1", "marked 1",
         "short-queue 1", "delayed 1", "trimmed", "one", "hosts-32", "heavy-loss 1", "uc-faults", "faults",
         "atp-lossy 1", "atp-restarted 1", "atp-two-lossy 1", "esa-lossy 1", "esa-scarce-lossy 1", "jobs", "atp-traced",
         "esa-traced", "atp-int32 1", "esa-int32sat", "atp-fixed", "atp-marked 1", "atp-trimmed", "atp-one", "esa-odd",
         "atp-faults-kill", "esa-faults-server", "ps-lossy 1", "grid-lossy", "grid-link-down 1", "grid-traced 1",
         "grid-goat 1", "grid-little", "grid-to-ps 1", "grid-trimmed 1", "grid-clocks", "ps-tree-traced 1",
         "dlcp-lossy 1", "dlcp-ina-lossy 1", "dlcp-ring-lossy 1", "dlcp-classes", "dlcp-sprayed", "dlcp-int32sat",
         "dlcp-ina-racks 1", "dlcp-ina-two", "dlcp-ina-few-slots 1", "dlcp-one", "dlcp-ring-trimmed",
         "dlcp-faults-kill", "dlcp-ina-faults-switch", "dlcp-ring-faults-host", "repair-lossy 1", "repair-gf256",
         "repair-direct-lossy 1", "repair-msr-lossy 1", "repair-traced 1", "repair-two-jobs 1", "repair-trimmed",
         "repair-switch-restarted 1", "repair-faults-switch", "repair-direct-faults-server",
         "pfc-incast 1", "pfc-deadlock", "pfc-slots", "pfc-storm-watchdog", "pfc-lossy 1", "pfc-receiver")  # fmt: skip
INTERPRETED = ("lossy 1", "uc-lossy 1", "trimmed 1", "atp-lossy 1", "esa-scarce-lossy 1", "atp-trimmed 1",
               "grid-lossy 3", "grid-to-ps 1", "grid-goat-lossy 1", "grid-little-capacity 1",
               "ps-tree-traced 1", "dlcp-lossy 1", "dlcp-ina-lossy 1", "dlcp-ring-trimmed 1", "dlcp-int32sat 1",
               "repair-traced 1", "repair-direct-lossy 1")  # fmt: skip


@pytest.mark.parametrize(
    ("family", "name", "scenario", "overrides", "seed"),
    [
        pytest.param(family, *run, id=run[0], marks=() if run[0].startswith(QUICK) else pytest.mark.minutes)
        for family in FAMILIES
        for run in runs(family)
    ],
)
def test_the_history_is_as_it_was(family: str, name: str, scenario: str, overrides: tuple[str, ...], seed: int) -> None:
    assert seen(scenario, overrides, seed) == KNOWN[family][name]


def test_the_interpreted_loop_tells_the_same() -> None:
    for family in FAMILIES:
        for name, scenario, overrides, seed in runs(family):
            if name in INTERPRETED and scenario not in left_out():
                assert seen(scenario, overrides, seed, native=False) == KNOWN[family][name]
