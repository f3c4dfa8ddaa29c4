"""Whole jobs: the worker and the collectives of the emulated world, on devices in memory."""

from __future__ import annotations

from dataclasses import replace

import pytest

from testbed.history import make_record
from tests.support.fake_nics import Fabric
from tests.support.simulation import digests, expected_digests, rack_plan
from workloads.config import ArithmeticSpec, PhaseConfig
from workloads.errors import ScenarioError
from workloads.events import WorkerFailed
from workloads.gradients import create_source
from workloads.verbs import VerbsWorker, true_configs


def open_ring(fabric, plan):
    workers = []
    for rank, config in enumerate(plan.workers):
        c = config.collective
        source = create_source(config.workload, c.rank, c.size, c.arithmetic.dtype)
        workers.append(VerbsWorker(config, f"rxe{rank}", source, open_nic=fabric.open))
    return workers


def connect_ring(plan, workers):
    true = true_configs(plan.workers, {rank: worker.names for rank, worker in enumerate(workers)})
    for worker, config in zip(workers, true, strict=True):
        worker.connect(config)


def run(fabric, plan, workers, rounds=3000):
    """Until all are over; the records of all."""
    records, now = [], 0
    for _ in range(rounds):
        fabric.deliver()
        now += 1_000_000
        for config, worker in zip(plan.workers, workers, strict=True):
            worker.handle_timer(now)
            while (event := worker.next_event()) is not None:
                records.append(make_record(now, config.name, event))
        if all(worker.finished or worker.failed for worker in workers):
            return records
    raise AssertionError("no end")


@pytest.mark.parametrize("verb", ["write", "send"])
@pytest.mark.parametrize("dtype", ["float32", "int32"])
def test_a_ring_reduces_bit_for_bit(verb, dtype):
    job = {"size_bytes": 40_000, "message_packets": 4, "iterations": 3, "dtype": dtype}
    plan = rack_plan(4, job=job, transport={"verb": verb})
    fabric = Fabric(aggregate=ArithmeticSpec("sum", dtype))
    workers = open_ring(fabric, plan)
    connect_ring(plan, workers)
    records = run(fabric, plan, workers)
    assert digests(records) == expected_digests(plan)
    assert fabric.rnr == 0  # rule H: with a switch of the job no message ever finds no receive


@pytest.mark.parametrize("collective", ["shift", "ring"])
def test_the_other_collectives_run_on_it_too(collective):
    plan = rack_plan(3, job={"protocol": collective, "size_bytes": 30_000, "message_packets": 3, "iterations": 2})
    fabric = Fabric()
    workers = open_ring(fabric, plan)
    connect_ring(plan, workers)
    assert digests(run(fabric, plan, workers)) == expected_digests(plan)


def test_late_receives_make_the_sender_wait():
    plan = rack_plan(2, job={"protocol": "shift", "size_bytes": 8_000}, transport={"receive_late_ns": 30_000_000})
    fabric = Fabric()
    workers = open_ring(fabric, plan)
    connect_ring(plan, workers)
    assert digests(run(fabric, plan, workers)) == expected_digests(plan)
    assert fabric.rnr > 0


def test_a_lost_peer_ends_the_job():
    plan = rack_plan(2, job={"size_bytes": 40_000, "message_packets": 4})
    fabric = Fabric(aggregate=ArithmeticSpec())
    workers = open_ring(fabric, plan)
    connect_ring(plan, workers)
    workers[0].handle_timer(1)
    fabric.fail(next(qp for qp in fabric.qps.values() if qp.sends), "RETRY_EXC")
    workers[0].handle_timer(2)
    told = []
    while (event := workers[0].next_event()) is not None:
        told.append(event)
    assert workers[0].failed
    assert not workers[0].finished
    assert [event.reason for event in told if isinstance(event, WorkerFailed)] == ["RETRY_EXC"]


def test_a_soft_rank_keeps_its_planned_names_and_is_known_by_them():
    plan = rack_plan(3)
    fabric = Fabric()
    names = {rank: worker.names for rank, worker in enumerate(open_ring(fabric, plan)) if rank != 1}
    true = true_configs(plan.workers, names)
    soft = plan.workers[1]
    assert (true[1].to_successor.qpn, true[1].collective.base_va) == (soft.to_successor.qpn, soft.collective.base_va)
    assert true[0].to_successor.peer_qpn == soft.from_predecessor.qpn
    assert (true[0].collective.peer_base_va, true[0].collective.peer_rkey) == (
        soft.collective.base_va,
        soft.collective.rkey,
    )
    assert true[1].to_successor.peer_qpn == names[2].recv_qpn
    assert true[1].from_predecessor.peer_qpn == names[0].send_qpn
    assert (true[1].collective.peer_base_va, true[1].collective.peer_rkey) == (names[2].base_va, names[2].rkey)


def test_what_was_opened_is_given_back_when_the_worker_cannot_be_made():
    plan = rack_plan(2, job={"protocol": "ring", "dtype": "int32sat"})  # sums of it are refused
    fabric, opened = Fabric(), []

    def open_nic(device, ip):
        opened.append(fabric.open(device, ip))
        return opened[-1]

    config = plan.workers[0]
    source = create_source(config.workload, 0, 2, "int32sat")
    with pytest.raises(Exception, match="int32sat"):
        VerbsWorker(config, "rxe0", source, open_nic=open_nic)
    assert opened[0].closed


def test_a_device_runs_no_phases():
    config = rack_plan(2).workers[0]
    ring = PhaseConfig(config.to_successor, config.from_predecessor, config.collective, 0, 4, 0)
    with pytest.raises(
        ScenarioError, match=r"a device runs one ring; found netreduce; allowed: netreduce, ring, shift$"
    ):
        VerbsWorker(replace(config, phases=(ring,)), "rxe0", create_source(config.workload, 0, 2))
