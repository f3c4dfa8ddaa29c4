"""A repair switch adds each contribution once, times its coefficient, and does what is missing when one is repeated."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pytest

from switch_nodes.config import SwitchConfig
from switch_nodes.jobs import TreeChild, TreeLinks
from switch_nodes.repair import RepairProgram
from switch_nodes.repair.tables import DROP_REASONS, SLOT_TABLE, RepairSlotEvent, RepairSlotState
from tests.support.repair_bench import SERVICE_IP, Bench, member_ip, value_of
from workloads.codes.gf256 import times
from workloads.datagrams.blocks import BlockReplayed, BlockSummed, ContributionIgnored, MemoryAtEnd, PartialSent
from workloads.errors import ScenarioError
from workloads.repair.packets import OP_GF256
from workloads.wire.aggregation import DatagramKind

DOCS = Path(__file__).resolve().parents[3] / "docs" / "repair.md"


def filled(block: int = 0, **changes: bool) -> Bench:
    bench = Bench(**changes)
    assert bench.data(0, block, 1) == []
    assert bench.data(1, block, 2) == []
    return bench


def test_the_last_contribution_makes_the_sum_leave_for_the_newcomer() -> None:
    bench = filled()
    ((port, found),) = bench.data(2, 0, 4)
    assert (port, found.dst_ip, found.header.kind, found.header.bitmap0) == (3, member_ip(4), DatagramKind.RESULT, 15)
    assert value_of(found) == 1 ^ 2 ^ 4
    assert [event.contributions for event in bench.events(BlockSummed)] == [(1, 1, 1, 1, 0)]


def test_inside_a_tree_it_leaves_for_the_switch_above() -> None:
    bench = filled(newcomer=False)
    ((_, found),) = bench.data(2, 0, 4)
    assert (found.dst_ip, found.header.kind, found.header.bitmap0) == (SERVICE_IP, DatagramKind.DATA, 15)
    (partial,) = bench.events(PartialSent)
    assert (partial.contributions, partial.bitmap, partial.reason) == ((1, 1, 1, 1, 0), 15, "complete")


def test_coefficients_in_packets_are_multiplied_by_and_sums_have_none() -> None:
    bench = Bench()
    bench.data(0, 0, 200, coefficient=142)
    bench.data(1, 0, 9)
    ((_, found),) = bench.data(2, 0, 77, coefficient=3)
    assert value_of(found) == times(142, 200) ^ 9 ^ times(3, 77)
    assert found.header.exponent0 == 0


@pytest.mark.parametrize("coefficient", [1, 2, 29, 200, 255])
def test_every_byte_is_multiplied_and_added(coefficient: int) -> None:
    payloads = [bytes(random.Random(port).choices(range(256), k=32)) for port in range(3)]
    bench = Bench()
    signed = coefficient - 256 if coefficient > 127 else coefficient
    for port, payload in enumerate(payloads):
        header = bench.header(DatagramKind.DATA, 0, bench.masks[port], 8)
        left = bench.send(port, header._replace(op=OP_GF256, exponent0=signed), payload)
    ((_, found),) = left
    assert list(found.payload) == [
        times(coefficient, a) ^ times(coefficient, b) ^ times(coefficient, c) for a, b, c in zip(*payloads, strict=True)
    ]


def test_a_contribution_that_comes_twice_is_added_once() -> None:
    bench = filled()
    ((port, asked),) = bench.data(0, 0, 1)
    assert (port, asked.header.kind) == (3, DatagramKind.REMINDER), "the newcomer may have it already"
    ((_, found),) = bench.data(2, 0, 4)
    assert value_of(found) == 7


def test_a_repetition_of_the_first_one_makes_it_send_again() -> None:
    bench = filled()
    bench.data(2, 0, 4)
    assert bench.data(1, 0, 2) == []
    assert bench.data(2, 0, 4) == []
    ((_, found),) = bench.data(0, 0, 1)
    assert value_of(found) == 7
    assert len(bench.events(BlockReplayed)) == 1
    assert [event.reason for event in bench.events(ContributionIgnored)] == ["duplicate", "duplicate"]


def test_an_acknowledgement_goes_to_all_below_and_later_to_those_that_repeat() -> None:
    bench = filled()
    bench.data(2, 0, 4)
    spread = [(port, found.dst_ip, found.header.bitmap0) for port, found in bench.ack(0)]
    assert spread == [(0, member_ip(0), 1), (1, SERVICE_IP, 6), (2, member_ip(3), 8)]
    assert bench.ack(0) == []
    ((port, found),) = bench.data(1, 0, 2)
    assert (port, found.header.kind, found.header.bitmap0) == (1, DatagramKind.ACK, 6)


def test_a_newer_block_takes_the_slot_and_proves_the_older_one_delivered() -> None:
    bench = filled()
    bench.data(2, 0, 4)
    bench.ack(0)
    assert bench.data(0, 2, 10) == []
    ((port, found),) = bench.data(2, 0, 4)
    assert (port, found.header.kind, found.header.sequence) == (2, DatagramKind.ACK, 1)
    bench.data(1, 2, 20)
    ((_, found),) = bench.data(2, 2, 30)
    assert value_of(found) == 10 ^ 20 ^ 30, "nothing of the old block is left"


def test_a_donor_that_does_not_wait_is_an_overrun() -> None:
    bench = filled()
    assert bench.data(2, 2, 9) == []
    assert [event.reason for event in bench.events(ContributionIgnored)] == ["overrun"]


def test_a_question_about_a_newer_block_goes_up_whatever_the_slot_knows() -> None:
    bench = filled()
    bench.data(2, 0, 4)
    bench.ack(0)
    ((port, found),) = bench.ask(1, 2)
    assert (port, found.header.kind) == (3, DatagramKind.REMINDER)
    ((port, found),) = bench.ask(1, 0)
    assert (port, found.header.kind) == (1, DatagramKind.ACK)


def test_a_switch_that_started_anew_learns_that_the_newcomer_has_the_block() -> None:
    bench = Bench()
    bench.data(0, 0, 1)
    bench.data(0, 0, 1)
    assert len(bench.ack(0)) == 3
    assert bench.data(0, 2, 5) == []


@pytest.mark.parametrize(
    ("port", "changes", "reason"),
    [
        (0, {"bitmap0": 2}, "wrong_port"), (4, {}, "wrong_port"), (3, {}, "wrong_port"), (0, {"slot": 2}, "bad_slot"),
        (0, {"fan_in0": 3}, "malformed"), (0, {"op": 0}, "malformed"), (0, {"job": 8}, "malformed"),
        (0, {"kind": DatagramKind.RESULT}, "malformed"),
    ],
)  # fmt: skip
def test_what_contradicts_itself_is_dropped(port: int, changes: dict[str, int], reason: str) -> None:
    bench = Bench()
    header = bench.header(DatagramKind.DATA, 0, 1, 8)._replace(**changes)
    assert bench.send(port, header, bytes(32)) == []
    assert [event.reason for event in bench.events(ContributionIgnored)] == [reason]


def test_another_size_is_a_mismatch() -> None:
    bench = filled()
    assert bench.data(2, 0, 4, words=6) == []
    assert [event.reason for event in bench.events(ContributionIgnored)] == ["mismatch"]


def test_packets_of_all_kinds_reach_every_pair_of_the_table_and_no_other() -> None:
    draw, steps = random.Random(4), set()
    for run in range(150):
        bench, at = Bench(children=1 + run % 3), 0
        for _ in range(50):
            block = 2 * max(0, at + draw.choice((0, 0, 0, 0, 1, -1)))
            port, kind = draw.randrange(1 + run % 3), draw.random()
            if kind < 0.7:
                bench.data(port, block, 1, words=8 if draw.random() < 0.95 else 6)
            elif kind < 0.85:
                at += bool(bench.ack(block))
            else:
                bench.ask(port, block)
        steps |= set(bench.steps())
    expected = {
        tuple(item.name.lower() for item in (state, event, after)) for (state, event), (after, _) in SLOT_TABLE.items()
    }
    assert steps == expected


def test_a_pair_that_the_table_lacks_is_dropped() -> None:
    assert SLOT_TABLE[RepairSlotState.FREE, RepairSlotEvent.REPEAT][0] is RepairSlotState.FREE
    assert DROP_REASONS[SLOT_TABLE[RepairSlotState.FREE, RepairSlotEvent.REPEAT][1]] == "unforeseen"


def test_what_is_left_is_told_at_the_end() -> None:
    bench = filled()
    bench.data(0, 1, 9)
    bench.data(2, 0, 4)
    bench.program.finish(9)
    while (event := bench.program.next_event()) is not None:
        bench.told.append(event)
    (memory,) = bench.events(MemoryAtEnd)
    assert (memory.open, memory.peak_occupied, memory.values) == (1, 2, 2)
    assert bench.program.slots_in_use == 2
    assert bench.program.depart(7)
    assert not bench.program.depart(7)


def test_of_the_time_of_a_slot_only_that_of_its_contributions_is_useful() -> None:
    """From 5 to 25 contributions come; until 60 the slot waits for an acknowledgement. The other slot has no sum."""
    bench = filled()
    bench.data(0, 1, 9)
    bench.now = 25
    bench.data(2, 0, 4)
    bench.now = 60
    bench.ack(0)
    bench.program.finish(60)
    while (event := bench.program.next_event()) is not None:
        bench.told.append(event)
    (memory,) = bench.events(MemoryAtEnd)
    assert memory.useful_ns == 20


@pytest.mark.parametrize(
    "tree",
    [
        None, TreeLinks(3, True, ()), TreeLinks(0, True, (TreeChild(0, 1, 0),)),
        TreeLinks(3, True, (TreeChild(0, 1, 0), TreeChild(1, 1, 1))), TreeLinks(3, True, (TreeChild(0, 16, 0),)),
        TreeLinks(9, True, (TreeChild(0, 1, 0),)),
    ],
)  # fmt: skip
def test_a_tree_that_cannot_be_is_refused(tree: TreeLinks | None) -> None:
    with pytest.raises(ScenarioError):
        RepairProgram(SwitchConfig("s1", "repair", 5, jobs=(replace(Bench().job, tree=tree),), memory=2))


def test_the_page_shows_the_table() -> None:
    assert SLOT_TABLE.diagram() in DOCS.read_text(encoding="utf-8")
