"""Marks of protocols, in histories made by hand."""

from __future__ import annotations

import pytest

from switch_nodes.events import MessageInferred, ResultReplayed
from testbed.history import Record
from testbed.hunt.marks import ASKED_TWICE, RESULT_UNDER_WAY, Marking
from testbed.hunt.message_marks import MESSAGE_MARKS
from testbed.hunt.search_mark import SearchMark
from workloads.datagrams.blocks import BlockReplayed, BlockSummed
from workloads.events import DatagramResent, NakSent, Retransmission
from workloads.machine import Event


def reached(mark: SearchMark, *events: Event, step: str | None = None) -> bool:
    """As `behaviours_of` asks."""
    marking = Marking({"m": mark})
    heeded = [event for event in events if marking.heeds(type(event), step)]
    return any(name == "m" for event in heeded for name in marking.see(Record(0, "s1", event), step))


def resent(block: int, cause: str = "timeout") -> DatagramResent:
    return DatagramResent(1, block, 0, cause, 1)


SUMMED = BlockSummed(1, 7, 0, (1, 1))
ANSWERED, OTHER = BlockReplayed(1, 0, 7, 0), BlockReplayed(1, 1, 7, 0)
NAK, REPLAY = NakSent(9, 96, 40), ResultReplayed(1, 0, 2, 0)


@pytest.mark.parametrize(
    ("mark", "events", "without"),
    [
        (RESULT_UNDER_WAY, [SUMMED, resent(7)], [resent(7), SUMMED]),
        (RESULT_UNDER_WAY, [SUMMED, resent(7)], [SUMMED, resent(8), resent(7, "gap")]),
        (ASKED_TWICE, [ANSWERED, ANSWERED], [ANSWERED, OTHER]),
        (
            MESSAGE_MARKS["timer before the NAK"],
            [NAK, Retransmission(3, "timeout", 40, 1)],
            [NAK, Retransmission(3, "nak", 40, 1), Retransmission(3, "timeout", 41, 1)],
        ),
        (MESSAGE_MARKS["result sent three times"], [REPLAY, REPLAY], [REPLAY, ResultReplayed(1, 1, 2, 0)]),
        (MESSAGE_MARKS["start inferred"], [MessageInferred(1, 0, 1, 1)], [REPLAY]),
    ],
)
def test_marks_that_look_at_events(mark: SearchMark, events: list[Event], without: list[Event]) -> None:
    assert reached(mark, *events)
    assert not reached(mark, *without)


@pytest.mark.parametrize("name", [name for name, mark in MESSAGE_MARKS.items() if mark.steps])
def test_marks_at_steps(name: str) -> None:
    mark = MESSAGE_MARKS[name]
    assert all(reached(mark, REPLAY, step=step) for step in mark.steps)
    assert not reached(mark, REPLAY, step="slot empty/new")


def test_a_run_does_not_see_what_another_one_saw() -> None:
    assert not reached(RESULT_UNDER_WAY, SUMMED)
    assert not reached(RESULT_UNDER_WAY, resent(7))
