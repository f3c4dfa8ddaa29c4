"""What a SwitchML switch counts and tells, beside what it sends."""

from __future__ import annotations

from typing import Any

import pytest

from switch_nodes.events import SwitchStatistics
from switch_nodes.switchml import SwitchMlProgram
from tests.support.switchml_bench import Bench, job_config, member_mac
from workloads.datagrams.blocks import BlockReplayed, BlockSummed, ContributionIgnored, SlotChanged, SlotMixed


def test_what_it_did_is_counted_and_told_at_the_end() -> None:
    bench = Bench(SwitchMlProgram)
    bench.send_all(0)
    bench.send(1, 0)  # again
    bench.send(0, 1, op=1)
    bench.send(0, 1)
    bench.give(0, member_mac(1) + member_mac(0) + b"\x08\x06" + bytes(46))
    bench.at_end()
    (told,) = bench.told(SwitchStatistics)
    plain = {"forwarded", "flooded", "filtered", "runt"}
    assert {name: count for name, count in told.counters.items() if count and name not in plain} == {
        "data_in": 6, "results_out": 4, "replayed": 1, "malformed": 1, "bypassed": 1,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "port", "block", "slot", "reason"),
    [
        ({}, 2, 6, 12, "wrong_port"), ({"slot": 14}, 1, 6, 14, "bad_slot"), ({"slot": 9}, 1, 6, 9, "bad_slot"),
        ({"bitmap0": 1}, 1, 6, 12, "malformed"), ({"fan_in0": 2}, 1, 6, 12, "malformed"),
        ({"op": 1}, 1, 6, 12, "malformed"), ({"values": [0] * 10}, 1, 6, 12, "malformed"),
        ({"sequence": 0, "op": 1}, 1, (1 << 32) - 1, 12, "malformed"),
    ],
)  # fmt: skip
def test_what_is_refused_is_told_with_what_it_said(
    changes: dict[str, Any], port: int, block: int, slot: int, reason: str
) -> None:
    bench = Bench(SwitchMlProgram, job_config(first_slot=10))
    assert bench.give(port, bench.frames(1, 6, **changes)) == []
    assert bench.told(ContributionIgnored) == [ContributionIgnored(7, 1, block, slot, reason)]


def test_what_is_of_no_job_here_is_told_of_nobody() -> None:
    stranger = Bench(SwitchMlProgram, job_config(8, first_slot=10))
    bench = Bench(SwitchMlProgram, job_config(first_slot=10))
    assert bench.give(1, stranger.frames(1, 6)) == []
    assert bench.told(ContributionIgnored) == [ContributionIgnored(8, -1, -1, 12, "malformed")]


@pytest.mark.parametrize(("behind", "older"), [(0, False), (1, True), ((1 << 31) - 1, True), (1 << 31, False)])
def test_what_is_older_is_so_modulo_all_numbers(behind: int, older: bool) -> None:
    program = Bench(SwitchMlProgram).program
    for newest in (5, (1 << 31) + 5, (1 << 32) - 5):
        assert program.service.is_older((newest - behind) % (1 << 32), newest) is older
    assert not program.service.is_older(behind, -1), "nothing came yet"


def test_a_damaged_frame_is_told_of_nobody() -> None:
    bench = Bench(SwitchMlProgram)
    (frame,) = bench.frames(0, 0)
    assert bench.give(0, frame[:-1] + bytes((frame[-1] ^ 1,))) == []
    assert bench.told(ContributionIgnored) == [ContributionIgnored(-1, -1, -1, -1, "checksum")]


def test_the_largest_slot_and_size_are_served() -> None:
    bench = Bench(SwitchMlProgram, job_config(first_slot=10))
    for rank in range(3):
        out = bench.send(rank, 3, [rank] * 8)
    assert out == dict.fromkeys(range(3), [3] * 8)


def test_sums_and_repetitions_are_told_with_slot_and_block() -> None:
    bench = Bench(SwitchMlProgram, job_config(first_slot=10))
    bench.send_all(6)
    bench.send(2, 6)
    assert bench.told(BlockSummed) == [BlockSummed(7, 6, 12, (1, 1, 1))]
    assert bench.told(BlockReplayed) == [BlockReplayed(7, 2, 6, 12)]


def test_a_late_copy_from_before_the_count_began_anew_is_stale() -> None:
    bench = Bench(SwitchMlProgram)
    bench.send(0, 0)
    bench.send(0, (1 << 32) - bench.window)
    assert bench.reasons == ["stale"]


def test_nothing_is_told_of_mixed_blocks_where_none_are() -> None:
    bench = Bench(SwitchMlProgram)
    bench.send_all(0)
    bench.send_all(bench.window)
    assert bench.told(SlotMixed) == []


def test_steps_are_told_where_they_are_traced() -> None:
    """Of both versions of an index: who contributes to one has left the other."""
    bench = Bench(SwitchMlProgram, job_config(workers=1, first_slot=10), trace=True)
    bench.send(0, 1)
    bench.send(0, 5)
    steps = [event for event in bench.told(SlotChanged) if isinstance(event, SlotChanged)]
    assert {(step.job, step.slot, step.rank) for step in steps} == {(7, 11, 0)}
    assert [(step.version, step.block, step.state, step.cause, step.next) for step in steps] == [
        (0, 1, "free", "completing", "done"), (1, 5, "free", "completing", "done"),
        (0, 5, "done", "last_moved_on", "free"),
    ]  # fmt: skip
    silent = Bench(SwitchMlProgram, job_config(workers=1))
    silent.send(0, 1)
    silent.send(0, 5)
    assert silent.told(SlotChanged) == []


def test_slots_are_busy_until_the_last_part_of_a_sum_and_useful_until_it_is_complete() -> None:
    """One packet each 1000 ns, from 1000 on: a sum from 1000 to 3000, another from 4000 to 6000 while the first is kept
    until its last worker moved on, at 6000. Then an answer, which keeps nothing busy, and a third sum from 8000 to
    10000."""
    bench = Bench(SwitchMlProgram)
    bench.send_all(0)
    bench.send_all(4)
    bench.send(1, 4)
    assert bench.program.served[7].busy_ns == 2000 + 1000 + 2 * 2000
    bench.send_all(8)
    (told,) = bench.at_end()
    assert (told.busy_ns, told.useful_ns, told.peak_occupied, told.open) == (7000 + 2000 + 2 * 2000, 6000, 2, 0)
    assert (told.first_slot, told.slots, told.values) == (0, 4, 8)


def test_a_job_that_is_not_there_cannot_depart() -> None:
    bench = Bench(SwitchMlProgram)
    assert not bench.program.depart(8)
    assert bench.program.depart(7)
    assert not bench.program.depart(7)
