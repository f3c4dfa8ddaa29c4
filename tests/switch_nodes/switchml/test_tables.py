"""The table is what the program does, all of it, and the documentation shows it."""

from __future__ import annotations

import random
from pathlib import Path

from switch_nodes.switchml import SwitchMlProgram
from switch_nodes.switchml.service import Contribution, PoolService
from switch_nodes.switchml.tables import (
    DROP_REASONS,
    LEAF_SLOT_TABLE,
    SLOT_TABLE,
    PoolSlotAction,
    PoolSlotEvent,
    PoolSlotState,
)
from tests.support.switchml_bench import Bench
from workloads.automaton import number_of
from workloads.datagrams.blocks import BlockSummed, ContributionIgnored, SlotChanged, SlotMixed
from workloads.wire.aggregation import DatagramFlag

DOCS = Path(__file__).resolve().parents[3] / "docs" / "switchml.md"


def _steps(bench: Bench) -> set[tuple[PoolSlotState, PoolSlotEvent, PoolSlotState]]:
    return {
        (PoolSlotState[event.state.upper()], PoolSlotEvent[event.cause.upper()], PoolSlotState[event.next.upper()])
        for event in bench.told(SlotChanged)
        if isinstance(event, SlotChanged)
    }


def test_honest_and_dishonest_packets_reach_every_pair_and_no_other() -> None:
    draw, steps = random.Random(3), set()
    for run in range(45):  # short ones: who lies about its next block has nothing to say afterwards
        workers = 1 + run % 3
        bench = Bench(SwitchMlProgram, workers=workers, trace=True)
        at = [0] * workers
        for _ in range(60):
            rank = draw.randrange(workers)
            # mostly its next block, else the one before, an old one, or one too far
            step = draw.choice((0, 0, 0, 0, -1, -1, -2, 1, 2))
            block = max(0, at[rank] + step) * bench.window
            results = bench.send(rank, block)
            for port in results:
                if block == at[port] * bench.window:
                    at[port] += 1
        steps |= _steps(bench)
    assert steps == {(state, event, after) for (state, event), (after, _) in SLOT_TABLE.items()}


def test_whatever_comes_no_sum_counts_a_worker_twice() -> None:
    for seed in range(20):
        draw, bench = random.Random(seed), Bench(SwitchMlProgram)
        for _ in range(300):
            bench.send(draw.randrange(3), draw.randrange(6) * bench.window)
        summed = [event for event in bench.told(BlockSummed) if isinstance(event, BlockSummed)]
        assert {event.contributions for event in summed} <= {(1, 1, 1)}


def test_a_pair_that_the_table_lacks_is_dropped_and_counted() -> None:
    """A worker that names one block in both versions goes back into a sum that others still keep."""
    bench = Bench(SwitchMlProgram, trace=True)
    for rank in range(3):
        bench.send(rank, 0)
    assert bench.send(0, 0, flags=int(DatagramFlag.VERSION)) == {}
    assert bench.send(0, 0) == {}
    assert bench.told(ContributionIgnored)[-1] == ContributionIgnored(7, 0, 0, 0, "unforeseen")
    assert bench.program.counters["unforeseen"] == 1
    assert set(bench.send(1, 0)) == {1}  # the sum is still there for the others


def test_two_datagrams_half_of_all_numbers_apart_end_nothing() -> None:
    bench = Bench(SwitchMlProgram)
    for rank in range(3):
        bench.send(rank, 0)
    assert bench.send(0, 1 << 31, flags=int(DatagramFlag.VERSION), slot=0) == {}
    assert bench.send(0, 0) == {}
    assert bench.told(ContributionIgnored)[-1] == ContributionIgnored(7, 0, 0, 0, "unforeseen")
    assert set(bench.send(1, 0)) == {1}


def test_the_numbers_of_compiled_code_are_those_of_the_table() -> None:
    for table in (SLOT_TABLE, LEAF_SLOT_TABLE):
        after, actions = table.numbered(PoolSlotState, PoolSlotEvent)
        for (state, event), (following, action) in table.items():
            at = number_of(state) * len(PoolSlotEvent) + number_of(event)
            assert (after[at], actions[at]) == (number_of(following), number_of(action))
    served = [action for action in PoolSlotAction if action not in DROP_REASONS]
    assert served == [
        PoolSlotAction.STORE,
        PoolSlotAction.STORE_AND_ANSWER,
        PoolSlotAction.REPLAY,
        PoolSlotAction.STORE_AND_RAISE,
        PoolSlotAction.RAISE,
        PoolSlotAction.SPREAD,
        PoolSlotAction.FORGET,
    ]
    assert [number_of(action) for action in served] == list(range(7))


def test_every_drop_has_a_reason_and_a_counter() -> None:
    drops = {action for action in PoolSlotAction if action.name.startswith("DROP_")}
    assert drops | {PoolSlotAction.UNFORESEEN} == set(DROP_REASONS)
    assert set(DROP_REASONS.values()) <= set(SwitchMlProgram.counter_names)


def test_documentation_shows_the_table() -> None:
    assert f"```mermaid\n{SLOT_TABLE.diagram()}```\n" in DOCS.read_text(encoding="utf-8")


class _BlindService(PoolService):
    def slot_event(self, c: Contribution) -> int:
        event = super().slot_event(c)
        return number_of(PoolSlotEvent.NEW) if event == number_of(PoolSlotEvent.MISMATCH) else event


class _BlindToBlocks(SwitchMlProgram):
    service_class = _BlindService


def test_what_is_added_to_another_block_is_told_whatever_the_judge_says() -> None:
    for make, mixed in ((SwitchMlProgram, []), (_BlindToBlocks, [(2, 1, 0)])):
        bench = Bench(make)
        bench.send(0, 0)
        bench.send(1, 2 * bench.window)
        told = [event for event in bench.told(SlotMixed) if isinstance(event, SlotMixed)]
        assert [(event.block // bench.window, event.rank, event.owner_block) for event in told] == mixed
