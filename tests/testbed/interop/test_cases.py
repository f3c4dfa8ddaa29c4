"""The table of cases: what it covers, and that each case shows in virtual time, on our own endpoints, what it is to
show."""

from __future__ import annotations

from dataclasses import replace

import pytest

from testbed.history import sort_history
from testbed.history.verdict import Verdict
from testbed.interop import controls
from testbed.interop.casehost import CaseRun
from testbed.interop.cases import ALLREDUCE, CASES, COMMAND, Case, case_scenario, choose_cases, devices_of
from testbed.interop.judging import judge_case
from testbed.plan import make_plan
from testbed.worlds.simulated import SimulatedWorld
from workloads.errors import ScenarioError
from workloads.wire import PSN_MODULUS

RINGS = [case for case in CASES if isinstance(case, Case) and case.kind == ALLREDUCE]


def simulated(case: Case, folder, seed: int = 1) -> CaseRun:
    plan = make_plan(case_scenario(case, seed))
    (switch,) = plan.switches
    if case.control == "plain-switch":
        plan = replace(plan, switches=(replace(switch, program="forward", rings=()),))
    elif case.control:
        wrong = controls.CONTROLS[case.control].__name__
        plan = replace(plan, switches=(replace(switch, program=f"{controls.__file__}:{wrong}"),))
    records = []
    facts = SimulatedWorld().run(plan, folder, records.append)
    return CaseRun(case, plan, sort_history(records), facts.captures, "", {}, 0.0)


@pytest.mark.parametrize("case", RINGS, ids=lambda case: case.id)
def test_a_case_is_passable_in_virtual_time(case, tmp_path):
    outcome = judge_case(simulated(case, tmp_path))
    assert outcome.verdict is Verdict.PASS, outcome.detail


@pytest.mark.parametrize("case", [case for case in RINGS if case.must_fail], ids=lambda case: case.id)
def test_what_must_fail_is_no_pass_without_its_fault(case, tmp_path):
    """Else the control would say nothing of what is wrong on purpose."""
    healthy = replace(case, control="", faults=(), transport={}, job={})
    outcome = judge_case(simulated(healthy, tmp_path))
    assert outcome.verdict is Verdict.FAIL
    assert outcome.detail.startswith(f"a negative control that did not fail: {case.must_fail} said pass")


def test_ids_are_unique_and_have_a_group():
    ids = [case.id for case in CASES]
    assert len(set(ids)) == len(ids)
    assert all(case_id.count("/") == 1 for case_id in ids)


def test_every_psn_wraps_in_every_case():
    for case in RINGS:
        for connection in make_plan(case_scenario(case, 1)).connections:
            assert connection.first_psn + sum(connection.message_packets) > PSN_MODULUS, case.id


def test_the_shapes_cover_what_the_protocol_allows():
    plans = [make_plan(case_scenario(case, 1)) for case in RINGS]
    assert {len(plan.workers) for plan in plans} == {2, 4, 6}
    assert {plan.workers[0].collective.arithmetic.dtype for plan in plans} == {"int32", "float32"}
    assert {plan.workers[0].collective.message_packets for plan in plans} == {1, 16, 170}
    assert {plan.workers[0].collective.window_messages for plan in plans} == {1, 2, 4}
    assert {plan.workers[0].to_successor.path_mtu for plan in plans} == {256, 512, 1024, 2048, 4096}
    assert {plan.workers[0].collective.verb for plan in plans} == {"write", "send"}
    assert {plan.workers[0].collective.hello for plan in plans} == {True, False}
    assert {case.control for case in RINGS} == {"", *controls.CONTROLS}
    assert any(case.soft for case in RINGS)


def test_soft_ranks_leave_a_rank_to_the_guest():
    for case in RINGS:
        assert set(case.soft) < set(range(case.hosts)), case.id


def test_programs_of_the_guest_are_given_as_lists():
    assert all(case.commands for case in CASES if isinstance(case, Case) and case.kind == COMMAND)


def test_cases_are_chosen_by_pattern_in_the_order_of_the_table():
    assert [case.id for case in choose_cases(("loss/middle", "shape/mtu-*"))] == [
        "shape/mtu-256", "shape/mtu-512", "shape/mtu-2048", "shape/mtu-4096", "loss/middle",
    ]  # fmt: skip
    assert choose_cases(()) == CASES


def test_a_pattern_that_fits_nothing_is_refused():
    with pytest.raises(ScenarioError) as caught:
        choose_cases(("loss/*", "los/*"))
    assert str(caught.value).startswith(
        "interop: --cases: no case fits; found 'los/*'; allowed: a case's id or a pattern, as "
    )


def test_the_guest_has_a_device_for_every_host():
    assert devices_of(choose_cases(("shape/2-*",))) == 2
    assert devices_of(CASES) == 6
