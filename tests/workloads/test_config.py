from __future__ import annotations

from dataclasses import replace

from tests.support.simulation import rack_plan
from workloads.config import PhaseConfig, WorkerConfig


def test_every_life_of_a_worker_has_queue_pairs_that_no_life_before_it_had() -> None:
    worker = rack_plan(2, transport={"start_psn": 0xFFFFF0}).workers[0]
    lives = [worker.reborn(number) for number in range(16)]
    assert lives[0] == worker
    for pairs in ([life.to_successor for life in lives], [life.from_predecessor for life in lives]):
        assert len({pair.qpn for pair in pairs}) == len({pair.first_psn for pair in pairs}) == 16
        assert all(0 <= pair.qpn < 1 << 24 and 0 <= pair.first_psn < 1 << 24 for pair in pairs)
        kept = {replace(pair, qpn=0, first_psn=0) for pair in pairs}
        assert len(kept) == 1, "peers are known as before"


def test_a_worker_of_one_ring_is_its_own_part() -> None:
    worker = rack_plan(2).workers[0]
    assert worker.parts == (worker,)
    assert worker.queue_pairs == (worker.to_successor, worker.from_predecessor)


def phased() -> WorkerConfig:
    worker = rack_plan(2).workers[0]
    pairs = [replace(worker.to_successor, qpn=qpn) for qpn in (3, 4, 5, 6)]
    rings = [replace(worker.collective, phase=name, ring_id=number) for number, name in enumerate(("in", "out"))]
    phases = (PhaseConfig(pairs[0], pairs[1], rings[0], 0, 9, 0), PhaseConfig(pairs[2], pairs[3], rings[1], 4, 5, 1))
    return replace(worker, to_successor=pairs[0], from_predecessor=pairs[1], phases=phases)


def test_the_parts_of_a_worker_are_its_phases_each_as_if_there_was_no_other() -> None:
    worker = phased()
    assert [part.collective for part in worker.parts] == [phase.collective for phase in worker.phases]
    assert [part.workload for part in worker.parts] == [replace(worker.workload, elements=n) for n in (9, 5)]
    assert [part.phases for part in worker.parts] == [(), ()]
    assert [qp.qpn for qp in worker.queue_pairs] == [3, 4, 5, 6]


def test_another_life_has_other_queue_pairs_in_every_phase() -> None:
    before, after = phased(), phased().reborn(1)
    assert not {qp.qpn for qp in before.queue_pairs} & {qp.qpn for qp in after.queue_pairs}
    assert after.queue_pairs[:2] == (after.to_successor, after.from_predecessor)
