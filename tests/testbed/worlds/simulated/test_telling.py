"""Events become records with their time and node; those of lives are heard."""

from __future__ import annotations

from dataclasses import dataclass

from testbed.history import OwnEvent, Record
from testbed.history.events import NodeExited
from testbed.worlds.simulated.agenda import Agenda
from testbed.worlds.simulated.telling import Telling
from workloads.datagrams.blocks import BlockReplayed
from workloads.events import WorkerFinished
from workloads.machine import Event


@dataclass(frozen=True, slots=True)
class Strange(Event):
    size: int


def test_events_become_records() -> None:
    records: list[Record] = []
    heard: list[tuple[str, Event]] = []
    telling = Telling(records.append, lambda node, event: heard.append((node, event)))
    telling.agenda = Agenda(1)
    replayed, gone, finished = BlockReplayed(1, 2, 3, 4), NodeExited("h2", 0, True, ""), WorkerFinished(3)
    telling.agenda.at(7, 0, lambda _: telling.tell("s1", replayed))
    telling.agenda.at(8, 0, lambda _: telling.tell("world", gone))
    telling.agenda.at(9, 0, lambda _: telling.tell("h1", finished))
    telling.agenda.at(9, 0, lambda _: telling.tell("s1", Strange(5)))
    telling.agenda.run(10, lambda: True)
    assert records == [
        Record(7, "s1", replayed), Record(8, "h2", gone), Record(9, "h1", finished),
        Record(9, "s1", OwnEvent("Strange", {"size": 5})),
    ]  # fmt: skip
    assert heard == [("world", gone), ("h1", finished)]
    assert telling.by_node == {"s1": 2, "world": 1, "h1": 1}
    assert telling.total() == 4
