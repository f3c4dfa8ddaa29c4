"""Planted bugs of DLCP jobs: the hunter finds each, and by a check that means something."""

from __future__ import annotations

import json

import pytest

from testbed.hunt.judge import OURS
from testbed.hunt.runner import Prey
from tests.support import hunted
from tests.support.dlcp_mutants import DLCP_PLANTED
from tests.support.hunted import found_bug, passes_where_bugs_fail
from tests.support.selection import some_at_once

SEED, SCHEDULES = 1, 2000
CHECKS = {"bounded_loss", "liveness"}
LATE = (
    "AddsCopies", "CountsCopies up", "ForgetsWhatIsEarly", "TakesOldGradients", "TakesOldSums", "AcknowledgesBefore",
    "DropsNewcomers", "NeverLate",
)  # fmt: skip


def test_there_are_ten_and_more():
    assert len(DLCP_PLANTED) >= 10


@pytest.mark.parametrize(
    "name", some_at_once(DLCP_PLANTED, quick=[name for name in DLCP_PLANTED if name not in LATE][::2])
)
def test_a_planted_bug_is_found(name):
    prey = Prey(SEED, SCHEDULES, program="forward", kind="dlcp")
    found = found_bug(name, prey, DLCP_PLANTED[name])
    assert found.failure is not None
    assert found.failure.check in CHECKS, found.failure


def test_ours_survives_the_schedules_that_find_bugs():
    assert passes_where_bugs_fail(Prey(SEED, SCHEDULES, program="forward", kind="dlcp")) > 4


def test_a_record_that_no_longer_holds_is_replaced(tmp_path, monkeypatch):
    monkeypatch.setattr(hunted, "_FILE", tmp_path / "found.json")
    hunted._FILE.write_text('{"1 dlcp SaysWhole": 0, "1 dlcp other": 4}\n')
    arguments = "SaysWhole", Prey(SEED, SCHEDULES, program="forward", kind="dlcp"), DLCP_PLANTED["SaysWhole"]
    monkeypatch.delenv("TB_KEEP_FOUND", raising=False)
    with pytest.warns(UserWarning, match="'1 dlcp SaysWhole' is found at 2"):
        assert found_bug(*arguments).number == 2
    monkeypatch.setenv("TB_KEEP_FOUND", "1")
    found_bug(*arguments)
    assert json.loads(hunted._FILE.read_text()) == {"1 dlcp SaysWhole": 2, "1 dlcp other": 4}
    monkeypatch.setattr(hunted, "run_hunt", None)
    assert found_bug(*arguments).number == 2
    with pytest.raises(TypeError):
        found_bug(*arguments[:2], OURS)
