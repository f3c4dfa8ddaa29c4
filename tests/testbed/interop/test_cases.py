"""The cases: each is a possible scenario, and all that the leg is for is among them."""

from __future__ import annotations

from collections import Counter

import pytest

from testbed.interop.cases import ALLREDUCE, CASES, COMMAND, Case, case_scenario, choose_cases, devices_of
from testbed.interop.controls import CONTROLS
from testbed.interop.peercases import PeerCase
from testbed.plan import make_plan
from workloads.errors import ScenarioError

RINGS = [case for case in CASES if isinstance(case, Case) and case.kind == ALLREDUCE]


def test_ids_are_unique_and_have_a_group():
    assert [name for name, count in Counter(case.id for case in CASES).items() if count > 1] == []
    assert [case.id for case in CASES if case.id.count("/") != 1] == []


@pytest.mark.parametrize("case", RINGS, ids=lambda case: case.id)
def test_each_is_a_scenario_whose_connections_wrap(case):
    scenario = case_scenario(case, 7)
    plan = make_plan(scenario)
    assert len(plan.workers) == case.hosts
    # All connections begin just below the end of PSN space, and have more packets than are left there.
    assert {worker.to_successor.first_psn for worker in plan.workers} == {0xFFFFFC}
    packets = -(-scenario.job.size_bytes // scenario.transport.path_mtu) + scenario.job.hello
    assert packets > 0x1000000 - 0xFFFFFC - (
        scenario.job.message_packets == 1
    )  # a header in each packet makes one more
    assert (scenario.expect == "fail") == bool(case.must_fail)
    assert case.control in {"", *CONTROLS}
    assert set(case.soft) < set(range(case.hosts))
    assert [fault.name for fault in scenario.faults] == [f"fault-{n + 1}" for n in range(len(case.faults))]


def test_timeouts_below_code_16_are_only_for_cases_that_must_fail():
    """An emulated guest retransmits without a loss at less; nothing may hang on that."""
    for case in RINGS:
        assert case_scenario(case, 1).transport.timeout_code >= 16 or case.must_fail, case.id


def test_what_the_leg_must_cover_is_there():
    jobs = [case_scenario(case, 1) for case in RINGS]
    assert {len(case_scenario(case, 1).topology.hosts) for case in RINGS} == {2, 4, 6}
    assert {job.job.dtype for job in jobs} == {"int32", "float32"}
    assert {job.job.message_packets for job in jobs} >= {1, 16, 170}
    assert {job.job.window_messages for job in jobs} >= {1, 2, 4}
    assert {job.transport.path_mtu for job in jobs} == {256, 512, 1024, 2048, 4096}
    assert {job.transport.verb for job in jobs} == {"send", "write"}
    assert {case.must_fail for case in RINGS} >= {"bit_exact", "transparency", "liveness"}
    assert {case.control for case in RINGS} == {"", *CONTROLS}
    assert any(case.soft for case in RINGS)
    assert any(isinstance(case, PeerCase) for case in CASES)
    assert any(isinstance(case, Case) and case.kind == COMMAND for case in CASES)


def test_patterns_choose_in_the_order_of_the_list_and_once():
    chosen = choose_cases(("plain/*", "loss/middle", "loss/mid*"))
    assert [case.id for case in chosen] == ["loss/middle", "plain/shift", "plain/shift-6-hosts-lossy"]
    assert choose_cases(()) == CASES


def test_a_pattern_that_fits_nothing_is_told_what_there_is():
    with pytest.raises(ScenarioError) as caught:
        choose_cases(("loss/*", "los/*"))
    text = str(caught.value)
    assert "no case fits" in text
    assert "'los/*'" in text
    for group in {case.id.partition("/")[0] for case in CASES}:
        assert f"{group}/*" in text


def test_the_guest_has_as_many_devices_as_the_largest_case():
    assert devices_of(choose_cases(("plain/*",))) == 6
    assert devices_of(choose_cases(("loss/middle",))) == 4
    assert devices_of(()) == 2


def test_rule_a_and_its_opposite_see_the_same_losses():
    pairs = {}
    for case in RINGS:
        if case.id.startswith("release/"):
            kind, _, name = case.id.removeprefix("release/").partition("-")
            pairs.setdefault(name, {})[kind] = case_scenario(case, 5)
    assert set(pairs) == {"middle", "loss-1"}
    for both in pairs.values():
        assert (both["order"].switch.release, both["asap"].switch.release) == ("order", "asap")
        assert both["order"].faults == both["asap"].faults
        assert (both["order"].job, both["order"].transport) == (both["asap"].job, both["asap"].transport)
