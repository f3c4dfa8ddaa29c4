"""What the programs of ours use of a configuration, and what is told of the rest."""

from __future__ import annotations

import dataclasses
from dataclasses import replace

import pytest

from switch_nodes.config import RingConfig, SwitchConfig
from switch_nodes.jobs import AggregatorKnobs
from switch_nodes.kinds import program_kinds, sums, unused_keys, uses
from switch_nodes.registry import program_names
from tests.support.aggregator_bench import job_config

PLAIN = SwitchConfig("s1", "forward", 4)
FULL = replace(PLAIN, rings=(RingConfig(1, ()),), gate="epsn", jobs=(job_config(workers=2),), memory=8)


@pytest.mark.parametrize("program", program_names())
def test_what_stays_as_it_comes_is_no_mistake(program: str) -> None:
    assert list(unused_keys(replace(PLAIN, program=program))) == []


@pytest.mark.parametrize(
    ("program", "found"),
    [
        ("forward", [("rings", ""), ("gate", ""), ("jobs", ""), ("memory", "")]),
        ("netreduce", [("jobs", "rings, release, gate"), ("memory", "rings, release, gate")]),
        ("switchml", [("rings", "jobs, memory"), ("gate", "jobs, memory")]),
        ("esa", [("rings", "jobs, memory, knobs"), ("gate", "jobs, memory, knobs")]),
        ("mine.py:Own", []),
    ],
)
def test_what_is_written_for_nobody_is_named(program: str, found: list[tuple[str, str]]) -> None:
    assert list(unused_keys(replace(FULL, program=program))) == found


def test_knobs_one_by_one() -> None:
    turned = replace(PLAIN, knobs=AggregatorKnobs(preempt=False, reclaim=False))
    assert list(unused_keys(replace(turned, program="atp"))) == [("knobs.preempt", "reclaim")]
    assert list(unused_keys(replace(turned, program="esa"))) == []
    assert list(unused_keys(replace(turned, program="switchml"))) == [("knobs", "jobs, memory")]


def test_every_kind_makes_its_program_and_names_fields_that_are_there() -> None:
    fields = {field.name for field in dataclasses.fields(SwitchConfig)}
    knobs = {field.name for field in dataclasses.fields(AggregatorKnobs)}
    for name, kind in program_kinds().items():
        assert callable(kind.load()), name
        assert set(kind.uses) <= fields
        assert set(kind.knobs) <= knobs


def test_what_a_program_of_somebody_else_does_is_not_known() -> None:
    assert sums("mine.py:Own")
    assert not uses("mine.py:Own", "rings")
    assert [name for name in program_kinds() if not sums(name)] == ["forward", "steer"]
    assert [name for name in program_kinds() if uses(name, "rings")] == ["fpga", "rtl", "netreduce"]
