"""Jobs and knobs that cannot be served are refused, with what was found and what is allowed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from switch_nodes.aggregators import AtpProgram, EsaProgram
from switch_nodes.jobs import AggregatorKnobs, JobConfig, RackLevels
from switch_nodes.registry import create_program
from tests.support.aggregator_bench import job_config, switch_config
from workloads.config import ArithmeticSpec
from workloads.errors import ScenarioError

JOB = job_config()
assert JOB.server is not None


def refused(*jobs: JobConfig, **changes: object) -> str:
    texts = set()
    for program in (AtpProgram, EsaProgram):
        with pytest.raises(ScenarioError) as caught:
            program(switch_config(*jobs, **changes))
        texts.add(str(caught.value))
    (text,) = texts
    return text


def test_the_registry_knows_them() -> None:
    assert isinstance(create_program(switch_config(JOB, program="atp")), AtpProgram)
    assert isinstance(create_program(switch_config(JOB, program="esa")), EsaProgram)


@pytest.mark.parametrize(
    ("job", "text"),
    [
        (replace(JOB, job=1 << 16), "switch s1: job 65536: job id; found 65536; allowed: 1 .. 65535"),
        (replace(JOB, members=()), "number of workers; found 0; allowed: 1 .. 1024, what bitmaps can name"),
        (replace(JOB, members=()), "number of workers; found 0"),
        (replace(JOB, members=JOB.members[::-1]), "members are not in rank order; found [2, 1, 0]"),
        (replace(JOB, members=(JOB.members[0], replace(JOB.members[0], rank=1))), "two members have the same address"),
        (replace(JOB, members=(replace(JOB.members[0], port=9),)), "port of rank 0; found 9; allowed: 0 .. 4"),
        (replace(JOB, slots=0), "slot indices; found 0 .. -1; allowed: 1 or more, within 0 .. 7"),
        (replace(JOB, first_slot=1), "slot indices; found 1 .. 8; allowed: 1 or more, within 0 .. 7"),
        (replace(JOB, elements=257), "elements of a block; found 257; allowed: 2 .. 256"),
        (
            replace(JOB, arithmetic=ArithmeticSpec("max", "float32")),
            "arithmetic; found max of float32; allowed: sum of float32, int32 or int32sat",
        ),
        (replace(JOB, server=None), "switch s1: job 7: it has no parameter server; found none; allowed: a host of the"),
        (replace(JOB, server=replace(JOB.server, port=5)), "port of the server; found 5; allowed: 0 .. 4"),
        (replace(JOB, server=replace(JOB.server, ip=JOB.members[1].ip)), "the server is a worker, too; found 0a000002"),
        (
            replace(JOB, levels=RackLevels(((0, 1),), 0, True)),
            "ranks by rack; found [(0, 1)]; allowed: each rank in one",
        ),
        (replace(JOB, levels=RackLevels(((0, 1, 2), ()), 0, True)), "each rank in one rack, none empty"),
        (replace(JOB, levels=RackLevels(((0, 1, 2),), 1, True)), "its own rack; found 1; allowed: 0 .. 0, or none"),
        (replace(JOB, levels=RackLevels(((0, 1, 2),), None, False)), "neither workers nor the server are here"),
    ],
)
def test_a_bad_job_is_refused(job: JobConfig, text: str) -> None:
    assert text in refused(job, macs=(), memory=8, ports=5)


@pytest.mark.parametrize(
    ("workers", "racks", "text"),
    [
        (33, None, "found 0 racks; allowed: each rank in one rack"),
        (33, (tuple(range(33)),), "found 1 racks; allowed: at most 32 workers in a rack, the bits of bitmap0"),
        (33, tuple((rank,) for rank in range(33)), "found 33 racks; allowed: at most 32 racks, the bits of bitmap1"),
    ],
)
def test_a_large_job_needs_racks_that_packets_can_name(
    workers: int, racks: tuple[tuple[int, ...], ...] | None, text: str
) -> None:
    levels = None if racks is None else RackLevels(racks, 0, True)
    job = replace(job_config(workers=workers), levels=levels)
    assert text in refused(job, macs=(), memory=8, ports=workers + 1)


def test_two_jobs_have_two_ids_and_may_share_slots() -> None:
    AtpProgram(switch_config(JOB, job_config(8, first=4)))
    text = "switch s1: job 7: two jobs with one id; found 7; allowed: an id of its own"
    assert text in refused(JOB, job_config(7, first=4))


@pytest.mark.parametrize("memory", [0, (1 << 16) + 1])
def test_memory_is_what_an_index_can_name(memory: int) -> None:
    text = f"switch s1: values of memory; found {memory}; allowed: 1 .. 65536, one for each slot index"
    assert text in refused(JOB, memory=memory)


@pytest.mark.parametrize(
    ("knobs", "text"),
    [
        (AggregatorKnobs(age="old"), "switch s1: knob age; found 'old'; allowed: none, minus1, shift1"),
        (AggregatorKnobs(free="never"), "switch s1: knob free; found 'never'; allowed: early, ack"),
    ],
)
def test_a_bad_knob_is_refused(knobs: AggregatorKnobs, text: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        EsaProgram(switch_config(JOB, knobs=knobs))
    assert text in str(caught.value)
