"""What SwitchML is charged, what the split varies, and which scenarios the sweeps make."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

from testbed.plan import make_plan
from testbed.protocols.esa.bench_ina.cases import (
    ATP,
    ESA,
    ESA_ACK,
    ESA_EQUAL,
    MEMORY_KEY,
    SWITCHML,
    InaCase,
    cases_of,
    emulated_case,
    words_of,
)
from testbed.scenario import parse_scenario
from testbed.scenario.model import Scenario
from workloads.atp import AtpConfig
from workloads.switchml import SwitchMlConfig

pytestmark = pytest.mark.protocols("switchml")


@cache
def cases() -> dict[str, InaCase]:
    return {case.mix: case for case in cases_of(seeds=1)}


def scenario(subject: str, memory: int = 96, mix: str = "mix-2+2") -> Scenario:
    found = [
        point.text
        for point in cases()[mix].points
        if (point.values["variant"], point.values[MEMORY_KEY]) == (subject, memory)
    ]
    return parse_scenario(found[0], "point.yaml")


@pytest.mark.parametrize(
    ("memory", "slots", "window"), [(8, 4, 1), (32, 16, 4), (96, 48, 12), (192, 96, 24), (960, 480, 24)]
)
def test_switchml_pays_for_its_shadow_copies(memory: int, slots: int, window: int) -> None:
    """At equal memory it has half as many indices as the others, in equal parts for its jobs."""
    case = cases()["mix-2+2"]
    assert (case.slots(SWITCHML, memory), case.slots(ATP, memory)) == (slots, memory)
    plan = make_plan(scenario(SWITCHML, memory))
    assert {worker.window for worker in plan.workers if isinstance(worker, SwitchMlConfig)} == {window}
    assert sum(job.slots for job in plan.switches[0].jobs) == slots
    assert plan.switches[0].memory == make_plan(scenario(ATP, memory)).switches[0].memory == memory


@pytest.mark.parametrize(("mix", "memory"), [("mix-2+2", 96), ("mix-8", 192), ("same-4", 96)])
def test_the_sum_of_windows_is_what_workers_may_have_outstanding(mix: str, memory: int) -> None:
    plan = make_plan(scenario(ATP, memory, mix))
    windows = {worker.group: worker.window for worker in plan.workers if isinstance(worker, AtpConfig)}
    assert sum(windows.values()) == cases()[mix].windows == memory


def test_mixes_are_what_the_page_says() -> None:
    jobs = {mix: [words_of(job) for job in case.jobs] for mix, case in cases().items()}
    assert jobs["mix-2+2"] == ["vgg16 (0.25)"] * 2 + ["resnet50 (4)"] * 2
    assert jobs["mix-8"] == ["vgg16 (0.25)"] * 2 + ["alexnet (0.25)"] * 2 + ["resnet50 (4)"] * 2 + ["bert-base (1)"] * 2
    assert jobs["same-4"] == ["vgg16 (0.25)"] * 4
    assert {mix for mix, case in cases().items() if case.is_mixed} == {"mix-2+2", "mix-8"}
    assert {len(job.hosts) for case in cases().values() for job in case.jobs} == {4}


@pytest.mark.parametrize("mix", ["mix-2+2", "mix-8", "same-4"])
def test_each_half_of_esa_differs_from_it_in_one_mechanism(mix: str) -> None:
    variants = {variant.label: dict(variant.changes) for variant in cases()[mix].sweep.variants}

    def differs(subject: str) -> dict[str, Any]:
        assert variants[ESA].items() <= variants[subject].items()
        return {key: value for key, value in variants[subject].items() if key not in variants[ESA]}

    assert differs(ESA_EQUAL) == {"job.priority": "equal"}
    assert differs(ESA_ACK) == {"switch.knobs.free": "ack"}
    assert scenario(ESA, 192, "mix-8").switch.knobs.free == "early"


def test_all_subjects_meet_the_same_network_and_the_same_work() -> None:
    scenarios = [scenario(subject) for subject in cases()["mix-2+2"].subjects]
    assert len({each.topology for each in scenarios}) == 1
    assert len({tuple(worker.workload for worker in make_plan(each).workers) for each in scenarios}) == 1


@pytest.mark.parametrize(("mix", "memory"), [("mix-2+2", 96), ("mix-8", 192), ("same-4", 96)])
@pytest.mark.parametrize("subject", [ATP, ESA, ESA_EQUAL, ESA_ACK])
def test_every_job_has_a_server_of_its_own(mix: str, memory: int, subject: str) -> None:
    plan = make_plan(scenario(subject, memory, mix))
    assert [len(server.jobs) for server in plan.servers] == [1] * len(cases()[mix].jobs)


def test_a_window_fills_the_way_through_the_server() -> None:
    """Four hops, each its delay and the packet's own time; not many packets more."""
    for case in (cases()["mix-2+2"], emulated_case(quick=True, seeds=1)):
        found = parse_scenario(case.points[0].text, "point.yaml")
        packet_ns = 8 * 1106 * 1_000_000_000 // found.link.rate_bps
        assert 0.9 < case.jobs[0].window_packets * packet_ns / (4 * (found.link.delay_ns + packet_ns)) < 1.15


@pytest.mark.parametrize("quick", [False, True])
def test_the_grids_reach_from_a_twelfth_to_ten_times_and_more(quick: bool) -> None:
    for case in cases_of(quick=quick, seeds=1):
        shares = sorted({point.values[MEMORY_KEY] / case.windows for point in case.points})
        assert any(share == pytest.approx(1 / 3) for share in shares)
        assert 10 in shares
        # A twelfth is the least that SwitchML can divide: one slot and its copy for each job.
        assert case.mix != "mix-2+2" or shares[0] == 1 / 12
        assert not [point.problem for point in case.points if point.problem]


def test_seeds_may_be_asked_for() -> None:
    assert [len(case.sweep.seeds) for case in cases_of()] == [3, 2, 2]
    assert [len(case.sweep.seeds) for case in cases_of(seeds=4)] == [4, 4, 4]
    assert [len(case.sweep.seeds) for case in cases_of(quick=True)] == [2]


def test_both_worlds_have_the_same_points() -> None:
    case = emulated_case(quick=False, seeds=1)
    assert case.subjects == (ATP, ESA, SWITCHML)
    assert sorted({point.values[MEMORY_KEY] / case.windows for point in case.points}) == [pytest.approx(1 / 3), 10]
    by_world = {
        world: [point.text.replace(f"world: {world}", "") for point in case.points if point.world == world]
        for world in ("simulated", "emulated")
    }
    assert by_world["simulated"] == by_world["emulated"]
