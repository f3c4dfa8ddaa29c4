"""Histories and what is found in them."""

from __future__ import annotations

from itertools import product

from testbed.history import Record, of_kind, of_kinds, sort_history
from testbed.history.records import History
from workloads.events import MessageAcked, MessagePosted, MessageReceived, WorkerFinished
from workloads.machine import Event

KINDS = MessageAcked, MessagePosted, MessageReceived, WorkerFinished, Event


def _records() -> list[Record]:
    events = MessagePosted(1, 0, 0), MessageAcked(1), MessageReceived(1, 7), MessagePosted(2, 1, 1)
    return [Record(t, node, event) for t, node, event in product((3, 3, 1), ("h2", "h1"), events)]


def test_a_history_is_in_order_of_time_then_node_and_each_node_keeps_its_own() -> None:
    records = _records()
    found = sort_history(records)
    assert found == sorted(records, key=lambda record: (record.t, record.node))
    assert isinstance(found, History)


def test_places_of_kinds_find_what_a_look_at_each_record_does() -> None:
    history = sort_history(_records())
    for kind in KINDS:
        assert of_kind(history, kind) == of_kind(list(history), kind)
    for kinds in product(KINDS, KINDS):
        assert of_kinds(history, *kinds) == of_kinds(list(history), *kinds)
    assert of_kinds(history, MessagePosted, MessageReceived)


def test_a_history_that_grew_is_looked_at_again() -> None:
    history = sort_history(_records())
    before = len(of_kind(history, MessageAcked))
    history.append(Record(9, "h1", MessageAcked(3)))
    assert len(of_kind(history, MessageAcked)) == before + 1
