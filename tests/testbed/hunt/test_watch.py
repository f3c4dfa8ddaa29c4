"""A Machine under watch does what it does alone."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from testbed.hunt.aggregator_rules import AggregatorWatch, ServerWatch
from testbed.hunt.endpoint_rules import EndpointWatch
from testbed.hunt.tree_rules import TreeWatch
from testbed.hunt.watch import Watch, WatchedMachine
from workloads.events import WorkerFinished
from workloads.machine import Buffer, Event


class Echo:
    """Sends each frame back, and reports it."""

    def __init__(self) -> None:
        self.frames, self.events = list[Buffer](), list[Event]()

    def receive_frame(self, port: int, frame: Buffer, now: int) -> None:
        self.frames.append(frame)
        self.events.append(WorkerFinished(now))

    def frames_to_send(self, now: int) -> Iterator[tuple[int, Buffer]]:
        while self.frames:
            yield 0, self.frames.pop(0)

    def get_timer(self) -> int | None:
        return 7

    def handle_timer(self, now: int) -> None:
        self.events.append(WorkerFinished(now))

    def next_event(self) -> Event | None:
        return self.events.pop(0) if self.events else None

    def finish(self, now: int) -> None:
        pass


class Log:
    def __init__(self, hears_sent: bool) -> None:
        self.hears_sent, self.heard = hears_sent, list[object]()

    def came(self, frame: bytes, now: int) -> None:
        self.heard.append(("came", frame))

    def told(self, event: Event) -> None:
        self.heard.append(event)

    def handled(self) -> None:
        self.heard.append("handled")

    def left(self, frame: bytes, now: int) -> None:
        self.heard.append(("left", frame))

    def drained(self) -> None:
        self.heard.append("drained")

    def woke(self, now: int) -> None:
        self.heard.append("woke")


@pytest.mark.parametrize("hears_sent", [True, False])
def test_a_watch_hears_what_it_asks_for(hears_sent: bool) -> None:
    log = Log(hears_sent)
    machine = WatchedMachine(Echo(), log)
    machine.receive_frame(0, b"x", 3)
    assert [(port, bytes(frame)) for port, frame in machine.frames_to_send(3)] == [(0, b"x")]
    assert machine.get_timer() == 7
    machine.handle_timer(7)
    sent = [("left", b"x"), "drained"] if hears_sent else []
    assert log.heard == [("came", b"x"), WorkerFinished(3), "handled", *sent, "woke", WorkerFinished(7)]
    assert [machine.next_event(), machine.next_event(), machine.next_event()] == [
        WorkerFinished(3),
        WorkerFinished(7),
        None,
    ]


@pytest.mark.parametrize("watch", [AggregatorWatch, EndpointWatch, ServerWatch, TreeWatch])
def test_a_watch_that_judges_what_is_sent_asks_for_it(watch: type[Watch]) -> None:
    def nothing(self: object, frame: bytes, now: int) -> None:
        pass

    judges_sent = watch.left.__code__.co_code != nothing.__code__.co_code  # type: ignore[attr-defined]
    assert watch.hears_sent == judges_sent
