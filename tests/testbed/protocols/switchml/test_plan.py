"""What workers, switch and faults are told of SwitchML over unreliable connections agrees."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from testbed.plan import Plan, make_plan
from tests.support.simulation import rack_plan
from workloads.switchml import SwitchMlConfig


def plan_of(framing: str = "uc", packets: int = 4, start_psn: int | None = None, **job: Any) -> Plan:
    plan = rack_plan(
        4, program="switchml",
        transport={"path_mtu": 256, "framing": framing, "uc_packets": packets, "start_psn": start_psn},
        job={"protocol": "switchml", "size_bytes": 80_000, "window_packets": 30} | job,
    )  # fmt: skip
    return make_plan(replace(plan.scenario, switch=replace(plan.scenario.switch, memory=160)))


def workers(plan: Plan) -> list[SwitchMlConfig]:
    return [worker for worker in plan.workers if isinstance(worker, SwitchMlConfig)]


def test_messages_take_the_place_of_packets() -> None:
    plan = plan_of()
    (switch,) = plan.switches
    assert switch.memory == 40
    assert [(job.slots, job.elements) for job in switch.jobs] == [(20, 256)]
    assert [(worker.window, worker.elements) for worker in workers(plan)] == [(7, 256)] * 4
    assert [worker.window for worker in workers(plan_of(window_packets=500))] == [20] * 4
    assert [worker.window for worker in workers(plan_of(size_bytes=2000))] == [2] * 4


def test_both_ends_and_faults_know_the_same_queue_pairs() -> None:
    plan = plan_of(copies=2)
    (switch,) = plan.switches
    members = [(job, member) for job in switch.jobs for member in job.members]
    for (job, member), worker in zip(members, workers(plan), strict=True):
        assert member.uc == worker.uc is not None
        assert (job.first_slot, member.ip) == (worker.first_slot, worker.envelope.src_ip)
        assert worker.uc.service_qpn & 0xFFFF == job.first_slot
        assert not worker.uc.rkey & 1
    numbers = [(w.envelope.src_ip, w.uc.service_qpn + cell) for w in workers(plan) if w.uc for cell in range(w.window)]
    assert [(source, qpn) for source, _, qpn in (c.requests for c in plan.connections)] == numbers
    for connection in plan.connections:
        assert connection.requests[:2] == connection.answers[1::-1]
    assert [connection.rank for connection in plan.connections] == [rank for rank in (0, 1, 0, 1) for _ in range(7)]
    assert len({c.requests[2] for c in plan.connections}) == len(plan.connections), (
        "jobs share no queue pair of the switch"
    )


def test_first_psns() -> None:
    drawn = {worker.uc.first_psn for worker in workers(plan_of()) if worker.uc}
    assert len(drawn) == 4
    given = plan_of(start_psn=0xFFFFFC)
    assert {worker.uc.first_psn for worker in workers(given) if worker.uc} == {0xFFFFFC}
    assert {connection.first_psn for connection in given.connections} == {0xFFFFFC}


def test_over_udp_there_are_no_connections() -> None:
    plan = plan_of("udp", 1)
    assert plan.connections == ()
    assert {worker.uc for worker in workers(plan)} == {None}
    assert {member.uc for switch in plan.switches for job in switch.jobs for member in job.members} == {None}
    assert [worker.window for worker in workers(plan)] == [30] * 4
