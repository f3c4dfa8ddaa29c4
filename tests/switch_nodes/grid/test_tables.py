"""The table is what the program does, all of it, for both ways to meet a taken slot."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from switch_nodes.grid.program import GridProgram
from switch_nodes.grid.tables import DROP_REASONS, GridSlotAction, GridSlotEvent, GridSlotState, slot_table
from switch_nodes.routes.layout import COLLISIONS
from tests.support.grid_star import NODE, GridBench
from workloads.datagrams.blocks import SlotChanged
from workloads.grid import NodeShare
from workloads.wire.aggregation import DatagramFlag

DOCS = Path(__file__).resolve().parents[3] / "docs"
Step = tuple[GridSlotState, GridSlotEvent, GridSlotState]


def walk(on_collision: str, seed: int) -> set[Step]:
    """Packets of all kinds. After each step the slot is in the state that was told."""
    draw, steps = random.Random(seed), set()
    workers = draw.choice((1, 3))
    shares = ((NodeShare(NODE, 3.0), NodeShare(0, 1.0)),) * workers
    bench = GridBench(
        workers, shares=shares, slots=2, window=4, on_collision=on_collision, capacity_bps=2e8, trace=True
    )
    for _ in range(300):
        bench.now += draw.randrange(4_000)
        rank, block, kind = draw.randrange(workers), draw.randrange(8), draw.randrange(10)
        if kind < 6:
            bench.send(rank, block)
        elif kind < 8:
            bench.send(rank, block, flags=int(DatagramFlag.RESEND))
        elif kind == 8:
            bench.send(rank, block, elements=6)
        else:
            bench.result(block)
        told = bench.told(SlotChanged)
        bench.events.clear()
        steps |= {
            (GridSlotState[e.state.upper()], GridSlotEvent[e.cause.upper()], GridSlotState[e.next.upper()])
            for e in told
        }
        if told:
            occupied = bench.program.memory.slots[told[-1].slot] is not None
            assert occupied == (told[-1].next == "filling")
    return steps


@pytest.mark.parametrize("on_collision", COLLISIONS)
def test_packets_reach_every_pair_and_no_other(on_collision: str) -> None:
    wanted = {(state, event, after) for (state, event), (after, _) in slot_table(on_collision).items()}
    steps: set[Step] = set()
    for seed in range(30):
        steps |= walk(on_collision, seed)
        if steps == wanted:
            break
    assert steps == wanted


def test_the_two_tables_differ_in_what_a_collision_does() -> None:
    drop, to_ps = slot_table("drop"), slot_table("to_ps")
    assert {pair for pair in drop if drop[pair] != to_ps[pair]} == {(GridSlotState.FILLING, GridSlotEvent.OTHER)}


def test_every_action_has_a_handler() -> None:
    assert set(GridBench().program.handlers()) == set(GridSlotAction)


def test_every_action_that_drops_has_a_reason() -> None:
    dropping = {action for action in GridSlotAction if action.value.startswith("drop")}
    assert set(DROP_REASONS) == dropping
    assert set(DROP_REASONS.values()) <= set(GridProgram.counter_names)


def test_the_documentation_shows_it() -> None:
    assert f"```mermaid\n{slot_table('drop').diagram()}```\n" in (DOCS / "routing.md").read_text(encoding="utf-8")
