from __future__ import annotations

from dataclasses import replace

from tests.support.simulation import rack_plan


def test_every_life_of_a_worker_has_queue_pairs_that_no_life_before_it_had() -> None:
    worker = rack_plan(2, transport={"start_psn": 0xFFFFF0}).workers[0]
    lives = [worker.reborn(number) for number in range(16)]
    assert lives[0] == worker
    for pairs in ([life.to_successor for life in lives], [life.from_predecessor for life in lives]):
        assert len({pair.qpn for pair in pairs}) == len({pair.first_psn for pair in pairs}) == 16
        assert all(0 <= pair.qpn < 1 << 24 and 0 <= pair.first_psn < 1 << 24 for pair in pairs)
        kept = {replace(pair, qpn=0, first_psn=0) for pair in pairs}
        assert len(kept) == 1, "peers are known as before"
