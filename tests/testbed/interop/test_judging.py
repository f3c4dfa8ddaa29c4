from __future__ import annotations

import os

import pytest

from testbed.interop.casehost import CaseRun
from testbed.interop.cases import CASES, COMMAND, Case, case_scenario, choose_cases
from testbed.interop.judging import Traffic, judge_case, traffic_of
from testbed.interop.leg import LegResult, _sweep
from testbed.plan import make_plan
from testbed.verdict import Verdict
from tests.testbed.interop.test_cases import simulated

PINGPONG = next(case for case in CASES if isinstance(case, Case) and case.kind == COMMAND)


def programs(statuses, error="", outputs=("server\nready", "client\ncannot connect")) -> CaseRun:
    return CaseRun(PINGPONG, None, [], (), error, {"statuses": statuses, "outputs": list(outputs)}, 1.0)


def test_programs_pass_when_all_end_well():
    assert judge_case(programs([0, 0])).verdict is Verdict.PASS


@pytest.mark.parametrize("statuses", [[0, 1], [1, 0], [None, 0], []])
def test_one_program_that_ends_otherwise_fails_the_case(statuses):
    assert judge_case(programs(statuses)).verdict is Verdict.FAIL


def test_why_a_program_failed_is_told_with_its_last_lines():
    assert judge_case(programs([None, 1])).detail == "exit [None, 1]: server / ready / client / cannot connect"
    late = judge_case(programs([None, None], "the last command did not end"))
    assert late.detail == "the last command did not end: server / ready / client / cannot connect"


def test_a_case_that_never_opened_fails_with_the_guests_words():
    (case,) = choose_cases(("loss/middle",))
    outcome = judge_case(CaseRun(case, make_plan(case_scenario(case, 1)), [], (), "OSError: no memory", {}, 0.1))
    assert (outcome.verdict, outcome.detail) == (Verdict.FAIL, "OSError: no memory")


def test_a_control_that_never_ran_is_no_pass():
    (case,) = choose_cases(("control/float64-sums",))
    outcome = judge_case(CaseRun(case, make_plan(case_scenario(case, 1)), [], (), "cancelled", {}, 0.1))
    assert outcome.verdict is Verdict.FAIL


def test_a_fault_that_did_not_strike_is_unknown(tmp_path):
    (case,) = choose_cases(("loss/middle",))
    drop = {**case.faults[0], "match": {"opcode": "cnp"}}
    outcome = judge_case(simulated(Case(case.id, faults=(drop,)), tmp_path))
    assert (outcome.verdict, outcome.strikes) == (Verdict.UNKNOWN, 0)
    assert outcome.detail.startswith("faults_exercised: fault-1 never struck")


def test_what_is_sent_again_is_counted_at_the_switch(tmp_path):
    """One lost packet, go-back-N: it and what its sender had sent behind it; told by the worker as well."""
    (case,) = choose_cases(("loss/middle",))
    run = simulated(case, tmp_path)
    told = sum(r["packets_retransmitted"] for r in run.history if r["event"] == "RcStatistics")
    sent = sum(r["packets_sent"] for r in run.history if r["event"] == "RcStatistics")
    assert traffic_of(run) == Traffic(sent, told)
    assert told > 0


def test_the_worst_case_is_the_verdict_of_the_leg():
    good, bad = judge_case(programs([0, 0])), judge_case(programs([1, 0]))
    assert LegResult((good, good)).verdict is Verdict.PASS
    assert LegResult((good, bad)).verdict is Verdict.FAIL
    assert LegResult(()).verdict is Verdict.UNKNOWN


def test_what_a_killed_run_left_goes_with_the_next_one(tmp_path):
    dead = os.fork()
    if dead == 0:
        os._exit(0)
    os.waitpid(dead, 0)
    for name in (f"interop-1-{dead}", f"interop-1-{os.getpid()}", "something-else"):
        (tmp_path / name / "guest").mkdir(parents=True)
    _sweep(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {f"interop-1-{os.getpid()}", "something-else"}
