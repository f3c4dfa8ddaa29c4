"""The loop in virtual time, without sockets."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from switch_nodes.dataplane.packet_io import SendOutcome
from switch_nodes.events import PlaneStatistics
from switch_nodes.filters import Delivery
from tests.support.machines import BatchForwarder, Forwarder, Rang
from tests.support.planes import FakeIo, ListTap, RuleFilter, clock_of, frame, plane_of, run
from workloads import livelock
from workloads.livelock import Livelock

MACHINES = [Forwarder, BatchForwarder]


@pytest.mark.parametrize("kind", MACHINES)
def test_frames_are_forwarded(kind: type[Forwarder]) -> None:
    io = FakeIo([(5, 0, b"a" * 60), (5, 1, b"b" * 61), (9, 0, b"c" * 62)])
    machine = kind({0: (1,), 1: (0, 2)})
    statistics, events = run(io, machine)
    assert machine.received == [(5, 0, b"a" * 60), (5, 1, b"b" * 61), (9, 0, b"c" * 62)]
    assert io.sent == [(5, 1, b"a" * 60), (5, 0, b"b" * 61), (5, 2, b"b" * 61), (9, 1, b"c" * 62)]
    assert (statistics.batches, statistics.largest_batch) == (2, 2)
    assert events == [(9, statistics)]


def test_a_frame_that_no_row_holds_is_lost_as_one_too_long_for_its_link() -> None:
    io, tap, machine = FakeIo([]), ListTap(), Forwarder({})
    machine.queue.extend([(1, b"x" * (io.stride + 1)), (1, b"y" * io.stride)])
    statistics, _ = run(io, machine, tap=tap)
    assert io.sent == [(0, 1, b"y" * io.stride)]
    assert [(port, len(frame), reason) for _, _, port, frame, reason in tap.lost] == [(1, io.stride + 1, "misfit")]
    assert statistics.misfits == 1


@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_both_paths_send_the_same(data: st.DataObject) -> None:
    times = sorted(data.draw(st.lists(st.integers(0, 300), max_size=40)))
    arrivals = [(at, data.draw(st.integers(0, 3)), frame(i, 60 + i)) for i, at in enumerate(times)]
    routes = {port: tuple(data.draw(st.lists(st.integers(0, 3), max_size=3))) for port in range(4)}
    delays = data.draw(st.lists(st.integers(0, 50), min_size=8, max_size=8))
    choices = data.draw(st.lists(st.sampled_from(["pass", "drop", "delay", "twice", "alter"]), min_size=8, max_size=8))
    capacity = data.draw(st.none() | st.integers(1, 5))

    def rule(data: bytes, now: int) -> tuple[Delivery, ...] | None:
        which = data[3] % 8
        at = now + delays[which]
        return {
            "pass": None,
            "drop": (),
            "delay": (Delivery(at, data),),
            "twice": (Delivery(now, data), Delivery(at, data)),
            "alter": (Delivery(now, data[:-1] + b"\xff"),),
        }[choices[which]]

    results = []
    for kind in MACHINES:
        io = FakeIo(arrivals)
        io.capacity = capacity
        run(
            io,
            kind(routes),
            backpressure=capacity is not None,
            ingress={0: RuleFilter(rule)},
            egress={port: RuleFilter(rule) for port in (1, 2)},
        )
        results.append(io.sent)
    assert results[0] == results[1]


@pytest.mark.parametrize("side", ["ingress", "egress"])
def test_delayed_frames_keep_their_order_and_their_time(side: str) -> None:
    arrivals = [(10, 0, frame(1)), (10, 0, frame(2)), (12, 0, frame(3)), (12, 0, frame(4))]
    io, machine = FakeIo(arrivals), BatchForwarder({0: (1,)})
    delay = RuleFilter(lambda data, now: (Delivery(now + 100, data),))
    statistics, _ = run(io, machine, **{side: {0 if side == "ingress" else 1: delay}})
    assert io.sent == [(110, 1, frame(1)), (110, 1, frame(2)), (112, 1, frame(3)), (112, 1, frame(4))]
    assert delay.asked == [frame(n) for n in (1, 2, 3, 4)]
    assert statistics.lag_max_ns == 0


def test_jitter_reorders_and_equal_deadlines_do_not() -> None:
    due = {1: 50, 2: 20, 3: 50, 4: 20}
    io = FakeIo([(10, 0, frame(n)) for n in due])
    machine = BatchForwarder({0: (1,)})
    run(io, machine, ingress={0: RuleFilter(lambda data, now: (Delivery(due[data[3]], data),))})
    assert [(at, data[3]) for at, _, data in io.sent] == [(20, 2), (20, 4), (50, 1), (50, 3)]


@pytest.mark.parametrize("side", ["ingress", "egress"])
def test_lost_frames_are_told_to_the_tap(side: str) -> None:
    io, machine, tap = FakeIo([(10, 0, frame(n)) for n in range(6)]), BatchForwarder({0: (1,)}), ListTap()
    loss = RuleFilter(lambda data, now: () if data[3] in (1, 4) else None)
    port, outgoing = (0, False) if side == "ingress" else (1, True)
    _, events = run(io, machine, tap=tap, **{side: {port: loss}})
    assert [data[3] for _, _, data in io.sent] == [0, 2, 3, 5]
    assert tap.lost == [(10, outgoing, port, frame(n), "filter") for n in (1, 4)]
    seen = {way: [data[3] for _, out, _, data in tap.records if out == way] for way in (False, True)}
    assert seen == {False: [0, 2, 3, 5] if side == "ingress" else list(range(6)), True: seen[True]}
    assert seen[True] == ([0, 2, 3, 5] if side == "ingress" else list(range(6)))
    assert [event for _, event in events[:-1]] == [Rang(10, 10)] * 2


@pytest.mark.parametrize("side", ["ingress", "egress"])
def test_duplicates_and_alterations_stay_in_place(side: str) -> None:
    io, machine = FakeIo([(10, 0, frame(n)) for n in range(5)]), BatchForwarder({0: (1,)})

    def rule(data: bytes, now: int) -> tuple[Delivery, ...] | None:
        if data[3] == 1:
            return Delivery(now, data), Delivery(now, data), Delivery(now + 9, data)
        return (Delivery(now, data[:-1] + b"!"),) if data[3] == 3 else None

    run(io, machine, **{side: {0 if side == "ingress" else 1: RuleFilter(rule)}})
    assert [(at, data[3], data[-1]) for at, _, data in io.sent] == [
        (10, 0, 0),
        (10, 1, 0),
        (10, 1, 0),
        (10, 2, 0),
        (10, 3, ord("!")),
        (10, 4, 0),
        (19, 1, 0),
    ]


def test_a_filter_sees_only_frames_of_its_port() -> None:
    arrivals = [(10, n % 3, frame(n)) for n in range(9)]
    filters = {port: RuleFilter(lambda data, now: () if data[3] == 4 else None) for port in (0, 1)}
    io, machine = FakeIo(arrivals), BatchForwarder({0: (3,), 1: (3,), 2: (3,)})
    run(io, machine, ingress=filters)
    assert [data[3] for data in filters[0].passed] == [0, 3, 6]
    assert [data[3] for data in filters[1].passed + filters[1].asked] == [1, 7, 4]
    assert [data[3] for _, _, data in io.sent] == [0, 1, 2, 3, 5, 6, 7, 8]


def test_with_backpressure_frames_stay_in_the_machine() -> None:
    """A sender that turns back sends nothing that the socket had no room for."""
    io, machine = FakeIo([(500, 0, frame(99))]), Forwarder({})
    machine.queue.extend((0, frame(n)) for n in range(10))
    io.capacity, io.drain_ns = 3, 1000

    class Nak(Forwarder):
        def receive_frame(self, port: int, data: Any, now: int) -> None:
            machine.queue.clear()
            machine.queue.append((0, frame(77)))

    machine.receive_frame = Nak({}).receive_frame  # type: ignore[method-assign]
    run(io, machine, backpressure=True)
    assert [data[3] for _, _, data in io.sent] == [0, 1, 2, 77]


def test_with_backpressure_everything_leaves_in_order() -> None:
    io, machine = FakeIo(), BatchForwarder({})
    machine.queue.extend((n % 2, frame(n)) for n in range(1000))
    io.capacity = 7
    statistics, _ = run(io, machine, backpressure=True)
    assert [data for _, _, data in io.sent] == [frame(n) for n in range(1000)]
    assert statistics.wakeups < 2 * 1000 / 7 + 10


def test_rows_that_found_no_room_after_all_are_sent_later() -> None:
    io, machine = FakeIo(), BatchForwarder({})
    machine.queue.extend((0, frame(n)) for n in range(20))
    io.capacity = 4
    io.room = lambda: 8  # type: ignore[method-assign]
    run(io, machine, backpressure=True)
    assert [data[3] for _, _, data in io.sent] == list(range(20))


def test_a_blocked_delayed_frame_does_not_spin() -> None:
    io, machine = FakeIo([(10, 0, frame(n)) for n in range(6)]), BatchForwarder({0: (1,)})
    io.capacity, io.drain_ns = 2, 10_000
    delay = RuleFilter(lambda data, now: (Delivery(now + 100 + data[3], data),))
    statistics, _ = run(io, machine, backpressure=True, egress={1: delay})
    assert [data[3] for _, _, data in io.sent] == list(range(6))
    assert statistics.wakeups < 20


@pytest.mark.parametrize("outcome", [SendOutcome.QUEUE, SendOutcome.LINK, SendOutcome.MISFIT])
def test_refused_frames_are_told_to_the_tap(outcome: SendOutcome) -> None:
    io, machine, tap = FakeIo([(10, 0, frame(n)) for n in range(4)]), BatchForwarder({0: (1,)}), ListTap()
    io.outcome_of = lambda data: outcome if data[3] == 2 else SendOutcome.SENT
    run(io, machine, tap=tap)
    assert tap.lost == [(10, True, 1, frame(2), outcome.name.lower())]
    assert [data[3] for _, _, data in io.sent] == [0, 1, 3]


def test_frames_made_by_the_control_handler_leave_before_the_end() -> None:
    io, machine = FakeIo(), Forwarder({})
    asked = itertools.count()

    def on_control() -> bool:
        machine.queue.append((0, frame(1)))
        machine.events.append(Rang(0, 0))
        return next(asked) == 0

    _, events = run(io, machine, on_control=on_control)
    assert len(io.sent) == 2
    assert [type(event) for _, event in events] == [Rang, Rang, PlaneStatistics]


def test_until_ends_the_loop() -> None:
    io = FakeIo()
    plane = plane_of(Forwarder({}), [], backpressure=False, on_event=lambda *_: None, io=io, clock=clock_of(io))
    statistics = plane.run(0, until=lambda: io.now >= 130_000_000)
    assert (statistics.wall_ns, statistics.wakeups) == (150_000_000, 4)


def test_times_count_from_the_origin() -> None:
    io, machine = FakeIo([(1500, 0, frame(1))]), Forwarder({})
    plane = plane_of(
        machine, [], backpressure=False, on_event=lambda *_: None, on_control=lambda: False, io=io, clock=clock_of(io)
    )
    plane.run(1000)
    assert machine.received == [(500, 0, frame(1))]


def test_more_frames_than_rows() -> None:
    io, machine = FakeIo([(1, 0, frame(n)) for n in range(700)]), BatchForwarder({0: (1, 2, 3)})
    statistics, _ = run(io, machine)
    assert [data for _, port, data in io.sent if port == 2] == [frame(n) for n in range(700)]
    assert len(io.sent) == 2100
    assert statistics.largest_batch == 256


def test_egress_filters_work_on_interleaved_ports() -> None:
    io, machine = FakeIo([(1, 0, frame(n)) for n in range(8)]), BatchForwarder({0: (1, 2)})
    run(io, machine, egress={1: RuleFilter(lambda data, now: () if data[3] % 2 else None)})
    assert [data[3] for _, port, data in io.sent if port == 1] == [0, 2, 4, 6]
    assert [data[3] for _, port, data in io.sent if port == 2] == list(range(8))


def test_rows_put_off_for_a_duplicate_go_before_new_ones() -> None:
    io, machine = FakeIo(), BatchForwarder({})
    machine.queue.extend((1, frame(n)) for n in range(700))
    twice = RuleFilter(lambda data, now: (Delivery(now, data),) * 2 if data == frame(10) else None)
    run(io, machine, egress={1: twice})
    assert [data for _, _, data in io.sent] == [frame(n) for n in sorted([*range(700), 10])]


def test_screen_is_asked_about_rows_side_by_side() -> None:
    starts: list[tuple[int, int]] = []

    class Watching(RuleFilter):
        def screen(self, batch: Any, start: int, now: int) -> Any:
            starts.append((start, batch.count))
            return np.ones(batch.count - start, np.bool_)

    io, machine = FakeIo([(1, port, frame(port)) for port in (0, 1, 1, 2)]), BatchForwarder({})
    run(io, machine, ingress={1: Watching(lambda data, now: None)})
    assert starts == [(1, 3)]


@pytest.mark.parametrize(
    ("verb", "answer", "what"),
    [
        ("get_timer", 0, "its timer expired 300 times in a row"),
        ("next_event", Rang(1, 1), "it reported 300 events in a row"),
    ],
)
def test_a_machine_that_does_not_come_to_an_end_is_named(
    monkeypatch: pytest.MonkeyPatch, verb: str, answer: object, what: str
) -> None:
    monkeypatch.setattr(livelock, "_MOST_WAKEUPS", 300)
    monkeypatch.setattr(livelock, "MOST_TOLD_BY_HOST", 300)
    machine = Forwarder({})
    monkeypatch.setattr(machine, verb, lambda: answer)
    with pytest.raises(Livelock, match=f"switch s7 does not come to an end: {what}"):
        run(FakeIo([]), machine, name="s7")
