"""Jobs that cannot be served are refused, with what was found and what is allowed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from switch_nodes.jobs import partition
from switch_nodes.registry import create_program
from switch_nodes.switchml import SwitchMlProgram
from tests.support.switchml_bench import job_config, switch_config
from workloads.config import ArithmeticSpec
from workloads.errors import ScenarioError

JOB = job_config()


def refused(*jobs: object, **changes: object) -> str:
    with pytest.raises(ScenarioError) as caught:
        SwitchMlProgram(switch_config(*jobs, **changes))  # type: ignore[arg-type]
    return str(caught.value)


def test_the_registry_knows_it() -> None:
    assert isinstance(create_program(switch_config(JOB)), SwitchMlProgram)


@pytest.mark.parametrize(
    ("job", "text"),
    [
        (replace(JOB, job=1 << 16), "switch s1: job 65536: job id; found 65536; allowed: 1 .. 65535"),
        (job_config(workers=33), "number of workers; found 33; allowed: 1 .. 32, what bitmaps can name"),
        (replace(JOB, members=()), "number of workers; found 0"),
        (replace(JOB, members=JOB.members[::-1]), "members are not in rank order; found [2, 1, 0]"),
        (replace(JOB, members=(JOB.members[0], replace(JOB.members[0], rank=1))), "two members have the same address"),
        (replace(JOB, members=(replace(JOB.members[0], port=9),)), "port of rank 0; found 9; allowed: 0 .. 1"),
        (replace(JOB, slots=0), "slot indices; found 0 .. -1; allowed: 1 or more"),
        (replace(JOB, elements=257), "elements of a block; found 257; allowed: 2 .. 256"),
        (replace(JOB, arithmetic=ArithmeticSpec("max", "float32")), "arithmetic; found max of float32"),
    ],
)
def test_a_bad_job_is_refused(job: object, text: str) -> None:
    assert text in refused(job, macs=())


def test_jobs_must_not_share() -> None:
    other = job_config(8, first_member=3, first_slot=3)
    assert "job 8: its slots are also those of another job; found job 7" in refused(JOB, other)
    twin = job_config(7, first_member=3, first_slot=4)
    assert "job 7: two jobs with one id; found 7; allowed: an id of its own" in refused(JOB, twin)


def test_the_pool_is_as_large_as_the_memory() -> None:
    assert "found 0 .. 3; allowed: 1 or more, within the 3 that 7 values of memory make" in refused(JOB, memory=7)


def test_a_static_partition_gives_all_the_same() -> None:
    assert partition(64, 2, 1) == ((0, 32),)
    assert partition(64, 2, 3) == ((0, 10), (10, 10), (20, 10))
    assert partition(7, 1, 2) == ((0, 3), (3, 3))
    with pytest.raises(ValueError, match="5 values are less than 2 for each of 3 jobs"):
        partition(5, 2, 3)
