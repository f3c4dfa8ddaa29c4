"""What stock programs heed, and what is told of the rest."""

from __future__ import annotations

from dataclasses import replace

import pytest

from switch_nodes.config import RingConfig, SwitchConfig
from switch_nodes.heeded import unheeded
from switch_nodes.jobs import AggregatorKnobs
from switch_nodes.registry import program_names
from tests.support.aggregator_bench import job_config

PLAIN = SwitchConfig("s1", "forward", 4)
FULL = replace(PLAIN, rings=(RingConfig(1, ()),), gate="epsn", jobs=(job_config(workers=2),), memory=8)


@pytest.mark.parametrize("program", program_names())
def test_what_stays_as_it_comes_is_no_mistake(program: str) -> None:
    assert list(unheeded(replace(PLAIN, program=program))) == []


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
    assert list(unheeded(replace(FULL, program=program))) == found


def test_knobs_one_by_one() -> None:
    turned = replace(PLAIN, knobs=AggregatorKnobs(preempt=False, reclaim=False))
    assert list(unheeded(replace(turned, program="atp"))) == [("knobs.preempt", "reclaim")]
    assert list(unheeded(replace(turned, program="esa"))) == []
    assert list(unheeded(replace(turned, program="switchml"))) == [("knobs", "jobs, memory")]
