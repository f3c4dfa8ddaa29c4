from __future__ import annotations

import pytest

from testbed.checkers.slowness import excused
from testbed.checkers.twins import Figures, Twin
from testbed.history.verdict import CheckResult, Verdict

HUNG = CheckResult("liveness", Verdict.FAIL, "a queue pair of h1 failed")
WRONG = CheckResult("bit_exact", Verdict.FAIL, "one sum is wrong")
SLOW = CheckResult("fidelity", Verdict.UNKNOWN, "the machine had too little CPU time: busy for 100 %")
FAST = CheckResult("fidelity", Verdict.PASS, "5 nodes had enough CPU time")
ENDED, ENDLESS = Figures({"JCT": 0.1}, 3), Figures({}, 3)


@pytest.mark.parametrize("twin", [Twin((ENDED,)), Twin((ENDLESS, ENDED)), Twin(left_out="too late", fails=True)])
def test_a_job_that_virtual_time_ends_is_not_blamed_for_a_slow_machine(twin: Twin) -> None:
    excuse, wrong = excused((HUNG, WRONG), SLOW, twin)
    assert excuse.verdict is Verdict.UNKNOWN
    assert excuse.detail == "the machine had too little CPU time: busy for 100 %; a queue pair of h1 failed"
    assert wrong is WRONG


@pytest.mark.parametrize(
    ("fidelity", "twin"),
    [
        (FAST, Twin((ENDED,))),
        (SLOW, Twin((ENDLESS,))),
        (SLOW, Twin(left_out="the switch runs a program of your own")),
        (SLOW, None),
    ],
    ids=["fast enough", "endless in virtual time too", "own program", "no reference run"],
)
def test_else_it_is_blamed(fidelity: CheckResult, twin: Twin | None) -> None:
    assert excused((HUNG,), fidelity, twin) == (HUNG,)


def test_a_job_that_ended_stays_so() -> None:
    right = CheckResult("liveness", Verdict.PASS, "all ended")
    assert excused((right,), SLOW, Twin((ENDED,))) == (right,)
