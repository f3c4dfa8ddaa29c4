"""The table is what the programs do, all of it, with every setting of the knobs that changes it."""

from __future__ import annotations

import dataclasses
import random
from itertools import product
from pathlib import Path

import pytest

from switch_nodes.aggregators import AtpProgram, EsaProgram
from switch_nodes.aggregators.checks import AGES, FREES
from switch_nodes.aggregators.tables import (
    DROP_REASONS,
    AggregatorAction,
    AggregatorEvent,
    AggregatorState,
    aggregator_table,
    atp_knobs,
)
from switch_nodes.jobs import AggregatorKnobs
from tests.support.aggregator_bench import Bench, MakeProgram, job_config
from workloads.datagrams.blocks import SlotChanged
from workloads.wire.aggregation import DatagramFlag

DOCS = Path(__file__).resolve().parents[3] / "docs"
Step = tuple[AggregatorState, AggregatorEvent, AggregatorState]
KNOBS = [
    AggregatorKnobs(preempt=preempt, free=free, reminder=reminder, reclaim=reclaim)
    for preempt, free, reminder, reclaim in product((True, False), ("early", "ack"), (True, False), (True, False))
]


def walk(make: MakeProgram, knobs: AggregatorKnobs, seed: int) -> set[Step]:
    """Packets of all kinds, most of them fit. After each step the slot is in the state that was told."""
    draw, steps = random.Random(seed), set()
    jobs = job_config(3, memory=2), job_config(4, first=4, memory=2), job_config(5, first=8, workers=1, memory=2)
    bench = Bench(make, *jobs, knobs=knobs, trace=True)
    for _ in range(400):
        job = draw.choice(jobs)
        block, priority = draw.randrange(6), draw.randrange(3)
        kind, rank = draw.randrange(12), draw.randrange(len(job.members))
        if kind < 7:
            bench.send(rank, block, job=job, priority=priority)
        elif kind == 7:
            flags = draw.choice((DatagramFlag.OVERFLOW, DatagramFlag.COLLISION, DatagramFlag.EVICTED))
            bench.send(rank, block, job=job, flags=flags)
        elif kind == 8:
            whole = (1 << len(job.members)) - 1
            bench.resend(rank, block, job=job, bitmap0=draw.choice((whole, 1 << rank, 1 << rank)))
        elif kind == 9:
            bench.send(rank, block, [1, 2, 3], job=job, flags=draw.choice((0, 1)))
        elif kind == 10:
            bench.result(block, job=job, to=draw.choice((None, rank)), flags=draw.choice((0, 16, 17)))
        else:
            bench.remind(block, job=job)
        told = [event for event in bench.told(SlotChanged) if isinstance(event, SlotChanged)]
        bench.events.clear()
        steps |= {
            (AggregatorState[e.state.upper()], AggregatorEvent[e.cause.upper()], AggregatorState[e.next.upper()])
            for e in told
        }
        if told:
            assert bench.program.memory.state(told[-1].slot).name.lower() == told[-1].next
    return steps


def programs() -> list[tuple[MakeProgram, AggregatorKnobs, AggregatorKnobs]]:
    """Program, what it is told, and what it goes by."""
    return [(EsaProgram, knobs, knobs) for knobs in KNOBS] + [
        (AtpProgram, AggregatorKnobs(reclaim=reclaim), atp_knobs(reclaim)) for reclaim in (True, False)
    ]


@pytest.mark.parametrize(("make", "told", "knobs"), programs())
def test_packets_reach_every_pair_and_no_other(
    make: MakeProgram, told: AggregatorKnobs, knobs: AggregatorKnobs
) -> None:
    wanted = {(state, event, after) for (state, event), (after, _) in aggregator_table(knobs).items()}
    steps: set[Step] = set()
    for seed in range(20):
        steps |= walk(make, told, seed)
        if steps == wanted:
            break
    assert steps == wanted


def test_every_action_has_a_handler() -> None:
    assert set(Bench(AtpProgram, job_config(3)).program.handlers()) == set(AggregatorAction)


def test_every_drop_has_a_reason_and_a_counter() -> None:
    drops = {action for action in AggregatorAction if action.name.startswith("DROP_")}
    assert drops | {AggregatorAction.UNFORESEEN} == set(DROP_REASONS)
    assert set(DROP_REASONS.values()) <= set(AtpProgram.counter_names)


@pytest.mark.parametrize(
    ("page", "knobs"),
    [
        pytest.param("atp.md", atp_knobs(), marks=pytest.mark.protocols("atp")),
        pytest.param("esa.md", AggregatorKnobs(), marks=pytest.mark.protocols("esa")),
    ],
)
def test_documentation_shows_the_table(page: str, knobs: AggregatorKnobs) -> None:
    assert f"```mermaid\n{aggregator_table(knobs).diagram()}```\n" in (DOCS / page).read_text(encoding="utf-8")


@pytest.mark.protocols("atp", "esa")
def test_documentation_names_every_knob_and_counter() -> None:
    esa, atp = ((DOCS / page).read_text(encoding="utf-8") for page in ("esa.md", "atp.md"))
    knobs = [field.name for field in dataclasses.fields(AggregatorKnobs)]
    assert [name for name in (*knobs, *AGES, *FREES) if f"`{name}`" not in esa] == []
    own = set(AtpProgram.counter_names) - {"forwarded", "flooded", "filtered", "runt"}
    assert [name for name in sorted(own) if name not in atp] == []


def test_a_table_is_made_once_for_all_switches():
    assert aggregator_table(AggregatorKnobs()) is aggregator_table(AggregatorKnobs())
    assert aggregator_table(AggregatorKnobs(reclaim=False)) is not aggregator_table(AggregatorKnobs())
