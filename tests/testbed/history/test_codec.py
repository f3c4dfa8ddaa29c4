"""Records as JSON and back, and what is told of lines that are none."""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from switch_nodes.events import PacketIgnored
from testbed.history import OwnEvent, Record, make_record, of_kinds
from testbed.history.codec import NoRecord, encode_record, read_record, record_fields
from testbed.history.eventkinds import KNOWN_KINDS
from testbed.history.events import NodeStarted
from testbed.plan import make_plan
from testbed.scenario import load_scenario
from testbed.steering.events import SwitchLost
from testbed.worlds.simulated import simulate
from workloads.datagrams.blocks import BlockSummed
from workloads.events import MessageAcked, MessagePosted, TrainingProgress, WorkerFinished
from workloads.machine import Event

COMPLETED = {
    "t": 5, "node": "h1", "event": "BlockSummed", "job": 1, "block": 2, "slot": 3, "contributions": [1, 1],
}  # fmt: skip


def problem_of(data: Any) -> str | None:
    try:
        read_record(data)
    except NoRecord as error:
        return str(error)
    return None


@pytest.mark.parametrize(
    ("name", "overrides"),
    [
        ("rack-lossy", ["trace=true", "job.size=20kB", "job.iterations=1"]),
        ("esa-lossy", ["trace=true", "job.size=20kB", "job.iterations=1"]),
        ("congested", ["job.size=60kB"]),
        ("hierarchical", ["job.size=20kB"]),
        ("switch-restarted", ["job.size=20kB"]),
    ],
)
def test_every_record_of_a_run_is_read_as_it_was_told(name: str, overrides: list[str]) -> None:
    plan = make_plan(load_scenario(name, overrides, world="simulated"))
    history = simulate(plan)
    assert [read_record(json.loads(encode_record(record))) for record in history] == history
    assert {type(record.event) for record in history} <= KNOWN_KINDS


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({}, None),
        ({"event": "OfAUser", "block": None}, None),
        ({"more": 1}, None),
        ({"t": 1.5}, "t: 1.5, not a whole number"),
        ({"node": 7}, "node: 7, not text"),
        ({"event": ["x"]}, "event: ['x'], not text"),
        ({"block": None}, "block of BlockSummed: None, not a whole number"),
        ({"block": True}, "block of BlockSummed: True, not a whole number"),
        ({"job": "x"}, "job of BlockSummed: 'x', not a whole number"),
        ({"job": "x" * 50}, f"job of BlockSummed: '{'x' * 36}..., not a whole number"),
        ({"contributions": 3}, "contributions of BlockSummed: 3, not a list (a whole number)"),
        ({"contributions": [1, "1"]}, "contributions of BlockSummed: [1, '1'], not a list (a whole number)"),
        ({"event": "SwitchStatistics"}, "SwitchStatistics without counters"),
        ({"event": "SwitchStatistics", "counters": {"a": None}}, ("counters of SwitchStatistics: {'a': None}, not a "
                                                                 "mapping (a whole number)")),
    ],
)  # fmt: skip
def test_what_is_no_record_is_told(change: dict[str, Any], problem: str | None) -> None:
    assert problem_of({**COMPLETED, **change}) == problem


@pytest.mark.parametrize("value", [[1, 2], 3, None, "x", {}, {"t": 1, "node": "h1"}])
def test_neither_is_anything_else(value: Any) -> None:
    assert problem_of(value) == "no t, node and event"


def test_a_field_that_is_told_sometimes_may_be_absent_but_not_be_anything() -> None:
    posted = {"t": 0, "node": "h1", "event": "MessagePosted", "message": 0, "received": 0, "acked": 0}
    assert problem_of(posted) is None
    assert problem_of({**posted, "phase": "scatter"}) is None
    assert problem_of({**posted, "phase": 1}) == "phase of MessagePosted: 1, not text"


def test_a_line_has_the_fields_in_their_order() -> None:
    line = encode_record(Record(5, "h1", BlockSummed(1, 2, 3, (1, 1))))
    assert line == b'{"t":5,"node":"h1","event":"BlockSummed","job":1,"block":2,"slot":3,"contributions":[1,1]}\n'
    line = encode_record(Record(5, "h1", MessagePosted(1, 2, 3)))
    assert line == b'{"t":5,"node":"h1","event":"MessagePosted","message":1,"received":2,"acked":3}\n'
    line = encode_record(Record(5, "h1", MessageAcked(1, "up")))
    assert line == b'{"t":5,"node":"h1","event":"MessageAcked","message":1,"phase":"up"}\n'


def test_numbers_that_json_does_not_know_and_halves_of_characters_come_back() -> None:
    told = [Record(0, "h1", TrainingProgress(1, float("inf"), 0.5)), Record(0, "h\udc80", WorkerFinished(1 << 80))]
    assert [read_record(json.loads(encode_record(record))) for record in told] == told


@dataclass(frozen=True)
class OfAUser(Event):
    block: int
    names: tuple[str, ...] = ()


def test_what_a_users_program_tells_is_kept_with_its_fields() -> None:
    record = make_record(3, "s1", OfAUser(7))
    assert record == Record(3, "s1", OwnEvent("OfAUser", {"block": 7, "names": ()}))
    assert record.name == "OfAUser"
    again = read_record(json.loads(encode_record(record)))
    assert again == Record(3, "s1", OwnEvent("OfAUser", {"block": 7, "names": []}))


def test_the_world_and_a_controller_tell_of_others_and_nobody_else_does() -> None:
    started = make_record(5, "world", NodeStarted("h1", "host", "native"))
    assert (started.node, read_record(json.loads(encode_record(started)))) == ("h1", started)
    assert make_record(5, "controller", SwitchLost("s1")).node == "s1"
    assert make_record(5, "s2", SwitchLost("s1")).node == "s2"


class _Number(IntEnum):
    SEVEN = 7


@given(
    st.tuples(*[st.integers() | st.booleans() | st.floats() | st.just(_Number.SEVEN)] * 4),
    st.text() | st.none() | st.integers(),
    st.text(),
    st.integers(),
)
def test_a_line_is_what_json_writes(numbers: tuple[Any, Any, Any, Any], text: Any, node: str, t: int) -> None:
    """Whole numbers and texts have a way of their own; whatever else is in such a field is written all the same."""
    record = Record(t, node, PacketIgnored(*numbers, text))
    assert encode_record(record) == json.dumps(record_fields(record), separators=(",", ":")).encode() + b"\n"


def test_records_of_some_kinds() -> None:
    history = [
        Record(t, "h1", event) for t, event in enumerate((MessagePosted(1, 2, 3), PacketIgnored(1, 2, 3, 4, "")))
    ]
    assert of_kinds(history, MessagePosted, BlockSummed) == history[:1]
    assert of_kinds(history, PacketIgnored, MessagePosted) == history
    assert of_kinds(history) == []
