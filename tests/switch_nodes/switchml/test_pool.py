"""What a pool keeps of time, and which parts of the memory jobs may have."""

from __future__ import annotations

from dataclasses import replace

import pytest

from switch_nodes.jobs import JobConfig
from switch_nodes.switchml.pool import Pool, check_jobs
from tests.support.switchml_bench import job_config, over, switch_config
from tests.support.switchml_framings import FRAMINGS
from workloads.errors import ScenarioError


def test_busy_counts_until_the_packet_that_entered_and_no_further() -> None:
    pool = Pool(job_config())
    pool.occupy(2, 100)
    pool.touch(150)
    assert pool.busy_ns == 2 * 50
    pool.occupy(-1, 200)
    assert pool.busy_ns == 2 * 50
    pool.touch(210)
    assert (pool.busy_ns, pool.peak) == (2 * 100 + 10, 2)


@pytest.mark.parametrize("first_slots", [(0, 1), (1, 0), (0, 3), (3, 0)])
def test_neighbours_in_the_pool_share_nothing(first_slots: tuple[int, int]) -> None:
    jobs = [
        job_config(7 + place, first_member=3 * place, first_slot=first, slots=1)
        for place, first in enumerate(first_slots)
    ]
    check_jobs(switch_config(*jobs))
    with pytest.raises(ScenarioError, match="its slots are also those of another job"):
        check_jobs(switch_config(jobs[0], replace(jobs[1], first_slot=first_slots[0])))


def with_pairs(number: int, first_qpn: int, slots: int = 2) -> JobConfig:
    """A job of one worker, and one queue pair for each slot, from `first_qpn` on."""
    job = job_config(number, first_member=number, first_slot=4 * number, workers=1, slots=slots)
    job = over(FRAMINGS["uc"], job)
    (member,) = job.members
    assert member.uc is not None
    return replace(job, members=(replace(member, uc=replace(member.uc, service_qpn=first_qpn)),))


@pytest.mark.parametrize("first_qpns", [(2, 4), (4, 2), (0xFFFFFE, 0xFFFFFC)])
def test_queue_pairs_may_be_all_that_there_are(first_qpns: tuple[int, int]) -> None:
    check_jobs(switch_config(*(with_pairs(number, qpn) for number, qpn in enumerate(first_qpns, 1))))


def test_each_slot_takes_the_next_queue_pair() -> None:
    check_jobs(switch_config(with_pairs(1, 6), with_pairs(2, 8, slots=3)))


@pytest.mark.parametrize("second", [5, 6, 7])
def test_queue_pairs_of_two_jobs_differ(second: int) -> None:
    with pytest.raises(ScenarioError, match=f"queue pairs of rank 0; found {second:#x}"):
        check_jobs(switch_config(with_pairs(1, 6), with_pairs(2, second)))
