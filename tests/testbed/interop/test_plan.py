"""A plan whose queue pairs devices have chosen."""

from __future__ import annotations

import pytest

from testbed.faults.matching import ConnectionTable
from testbed.interop.casehost import true_plan
from testbed.interop.cases import case_scenario, choose_cases
from testbed.interop.protocol import QpNames
from testbed.plan import make_plan

NAMES = {
    rank: QpNames(0x40 + 2 * rank, 0x41 + 2 * rank, 0x7F0000000000 + (rank << 20), 0x1000 + rank) for rank in range(4)
}


@pytest.fixture
def planned():
    (case,) = choose_cases(("loss/middle",))
    return make_plan(case_scenario(case, 1))


def test_every_rank_knows_the_true_numbers_of_both_neighbours(planned):
    workers = true_plan(planned, NAMES).workers
    for rank, worker in enumerate(workers):
        before, behind = NAMES[(rank - 1) % 4], NAMES[(rank + 1) % 4]
        assert (worker.to_successor.qpn, worker.to_successor.peer_qpn) == (NAMES[rank].send_qpn, behind.recv_qpn)
        assert (worker.from_predecessor.qpn, worker.from_predecessor.peer_qpn) == (
            NAMES[rank].recv_qpn,
            before.send_qpn,
        )
        assert (worker.collective.peer_base_va, worker.collective.peer_rkey) == (behind.base_va, behind.rkey)
        assert (worker.collective.base_va, worker.collective.rkey) == (NAMES[rank].base_va, NAMES[rank].rkey)


def test_faults_and_checkers_know_connections_by_the_true_numbers(planned):
    plan = true_plan(planned, NAMES)
    for rank, (connection, before) in enumerate(zip(plan.connections, planned.connections, strict=True)):
        assert connection.requests == (*before.requests[:2], NAMES[(rank + 1) % 4].recv_qpn)
        assert connection.answers == (*before.answers[:2], NAMES[rank].send_qpn)
        assert (connection.first_psn, connection.message_packets) == (before.first_psn, before.message_packets)
    ConnectionTable(plan.connections)


def test_a_rank_on_our_own_endpoint_keeps_its_numbers(planned):
    plan = true_plan(planned, {rank: NAMES[rank] for rank in (0, 2)})
    assert plan.workers[1].to_successor.qpn == planned.workers[1].to_successor.qpn
    assert plan.workers[1].to_successor.peer_qpn == NAMES[2].recv_qpn
    assert plan.workers[0].to_successor.peer_qpn == planned.workers[1].from_predecessor.qpn
    assert plan.workers[0].collective.peer_base_va == planned.workers[1].collective.base_va


def test_all_else_stays(planned):
    plan = true_plan(planned, NAMES)
    assert (plan.scenario, plan.switches) == (planned.scenario, planned.switches)
    for worker, before in zip(plan.workers, planned.workers, strict=True):
        assert (worker.name, worker.workload) == (before.name, before.workload)
        assert worker.to_successor.envelope == before.to_successor.envelope
        assert worker.to_successor.first_psn == before.to_successor.first_psn
