"""What SwitchML is charged, what the split varies, and which scenarios a point makes."""

from __future__ import annotations

from dataclasses import fields, replace

import pytest

from testbed.bench.ina.place import EMULATED, SIMULATED, Place, Point
from testbed.bench.ina.subjects import ATP, ESA, ESA_ACK, ESA_EQUAL, MIXES, SUBJECTS, SWITCHML, Subject
from testbed.plan import make_plan
from testbed.scenario import dump_scenario, parse_scenario
from workloads.atp import AtpConfig
from workloads.switchml import SwitchMlConfig


def point(subject: Subject, memory: int, mix: str = "mix-2+2") -> Point:
    return Point(SIMULATED, mix, subject, memory, 1)


@pytest.mark.parametrize(
    ("memory", "slots", "window"), [(8, 4, 1), (32, 16, 4), (96, 48, 12), (192, 96, 24), (960, 480, 24)]
)
def test_switchml_pays_for_its_shadow_copies(memory: int, slots: int, window: int) -> None:
    """At equal memory it has half as many indices as the others, in equal parts for its jobs."""
    assert (point(SWITCHML, memory).indices(), point(ATP, memory).indices()) == (slots, memory)
    plan = make_plan(point(SWITCHML, memory).scenario())
    assert {worker.window for worker in plan.workers if isinstance(worker, SwitchMlConfig)} == {window}
    assert sum(job.slots for job in plan.switches[0].jobs) == slots
    assert plan.switches[0].memory == make_plan(point(ATP, memory).scenario()).switches[0].memory == memory


def test_the_sum_of_windows_is_what_workers_may_have_outstanding() -> None:
    for mix in MIXES.values():
        plan = make_plan(point(ATP, 96, mix.name).scenario())
        windows = {worker.group: worker.window for worker in plan.workers if isinstance(worker, AtpConfig)}
        assert sum(windows.values()) == SIMULATED.windows(mix)


def test_each_half_of_esa_differs_from_it_in_one_mechanism() -> None:
    def differs(subject: Subject) -> set[str]:
        return {f.name for f in fields(Subject) if getattr(subject, f.name) != getattr(ESA, f.name)} - {"name"}

    assert differs(ESA_EQUAL) == {"priority"}
    assert differs(ESA_ACK) == {"knobs"}
    assert replace(ESA_ACK.knobs, free="early") == ESA.knobs


def test_all_subjects_meet_the_same_network_and_the_same_work() -> None:
    scenarios = [point(subject, 96).scenario() for subject in SUBJECTS]
    assert len({scenario.topology for scenario in scenarios}) == 1
    assert len({tuple(worker.workload for worker in make_plan(each).workers) for each in scenarios}) == 1


def test_every_job_has_a_server_of_its_own() -> None:
    plan = make_plan(point(ATP, 96).scenario())
    assert [len(server.jobs) for server in plan.servers] == [1, 1, 1, 1]


@pytest.mark.parametrize("place", [SIMULATED, EMULATED], ids=lambda place: place.world)
def test_a_window_fills_the_way_through_the_server(place: Place) -> None:
    """Four hops, each its delay and the packet's own time; not many packets more."""
    packet_ns = 8 * 1106 * 1_000_000_000 // place.rate_bps
    assert 0.9 < place.window * packet_ns / (4 * (place.delay_ns + packet_ns)) < 1.15


@pytest.mark.parametrize("mix", MIXES)
@pytest.mark.parametrize("subject", SUBJECTS, ids=lambda subject: subject.name)
def test_a_point_is_a_scenario_that_a_file_could_hold(mix: str, subject: Subject) -> None:
    scenario = point(subject, 192, mix).scenario()
    read = make_plan(parse_scenario(dump_scenario(scenario), "point.yaml"))
    assert (read.workers, read.switches, read.servers) == (
        (made := make_plan(scenario)).workers, made.switches, made.servers,
    )  # fmt: skip
