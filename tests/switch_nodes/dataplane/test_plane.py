"""The loop in virtual time, without sockets."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from switch_nodes.dataplane import DataPlane, EmulatedClock, Pacer
from switch_nodes.dataplane.packet_io import SendOutcome
from switch_nodes.events import PlaneStatistics
from switch_nodes.filters import Delivery
from tests.support.machines import BatchForwarder, Forwarder, Rang
from tests.support.planes import FakeIo, ListTap, RuleFilter
from workloads.machine import Buffer, Event

MACHINES = [Forwarder, BatchForwarder]


def frame(number: int, size: int = 64) -> bytes:
    return number.to_bytes(4, "big") + bytes(size - 4)


def clock_of(io: FakeIo, dilation: int = 1) -> EmulatedClock:
    def sleep(seconds: float) -> None:
        io.now += round(seconds * 1e9)

    return EmulatedClock(dilation, read=io.clock, sleep=sleep)


def run(io: FakeIo, machine: Forwarder, **options: Any) -> tuple[PlaneStatistics, list[tuple[int, Event]]]:
    """Until nothing can happen any more."""
    events: list[tuple[int, Event]] = []
    settings: dict[str, Any] = {"backpressure": False, "on_control": lambda: False, "clock": clock_of(io)} | options
    plane = DataPlane(machine, [], on_event=lambda now, event: events.append((now, event)), io=io, **settings)
    return plane.run(0), events


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


def test_nothing_to_do_means_one_endless_sleep() -> None:
    io = FakeIo()
    statistics, _ = run(io, Forwarder({}))
    assert io.timeouts == [0, -1]
    assert statistics.wakeups == 2


def test_it_sleeps_exactly_until_a_timer() -> None:
    io, machine = FakeIo(), Forwarder({})
    machine.timers = [700, 300]
    statistics, events = run(io, machine)
    assert events[:-1] == [(300, Rang(300, 300)), (700, Rang(700, 700))]
    assert io.timeouts == [0, 300, 400, -1]
    assert statistics.lag_max_ns == 0


def test_a_late_timer_is_served_and_measured() -> None:
    io, machine = FakeIo(), Forwarder({})
    io.wake_late_ns = 90
    machine.timers = [300, 1000]
    statistics, events = run(io, machine)
    assert [event for _, event in events[:-1]] == [Rang(300, 390), Rang(1000, 1090)]
    assert (statistics.lag_max_ns, statistics.lag_p99_ns) == (90, 90)


def test_a_deadline_that_was_over_when_it_was_set_is_not_our_lag() -> None:
    class Overdue(Forwarder):
        def receive_frame(self, port: int, data: Any, now: int) -> None:
            self.timers.append(now - 5000)

        def get_timer(self) -> int | None:
            return min(self.timers, default=None)

    io = FakeIo([(10_000, 0, frame(1))])
    machine = Overdue({})
    statistics, events = run(io, machine)
    assert events[0] == (10_000, Rang(5000, 10_000))
    assert statistics.lag_max_ns == 0


def test_an_early_wakeup_leaves_the_timer_alone() -> None:
    io, machine = FakeIo([(100, 0, frame(1))]), Forwarder({})
    machine.timers = [300]
    _, events = run(io, machine)
    assert events[0] == (300, Rang(300, 300))
    assert machine.timer_calls == 1


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
    plane = DataPlane(Forwarder({}), [], backpressure=False, on_event=lambda *_: None, io=io, clock=clock_of(io))
    statistics = plane.run(0, until=lambda: io.now >= 130_000_000)
    assert (statistics.wall_ns, statistics.wakeups) == (150_000_000, 4)


def test_times_count_from_the_origin() -> None:
    io, machine = FakeIo([(1500, 0, frame(1))]), Forwarder({})
    plane = DataPlane(
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


DENSE = [(1_000_000 + 50_000 * n, 0, frame(n)) for n in range(40)]


def test_dense_traffic_is_taken_in_few_wakeups() -> None:
    once = FakeIo(DENSE)
    all_at_once, _ = run(once, Forwarder({0: (1, 2, 3)}))
    io = FakeIo(DENSE)
    moderated, _ = run(io, Forwarder({0: (1, 2, 3)}), moderation_ns=500_000)
    assert [sent[1:] for sent in io.sent] == [sent[1:] for sent in once.sent]
    assert moderated.wakeups < all_at_once.wakeups / 3
    assert io.sent[-1][0] <= DENSE[-1][0] + 500_000


def test_moderation_waits_for_no_deadline() -> None:
    io, machine = FakeIo(DENSE), Forwarder({0: (1, 2, 3)})
    machine.timers = [1_333_333]
    statistics, events = run(io, machine, moderation_ns=500_000)
    assert (1_333_333, Rang(1_333_333, 1_333_333)) in events
    assert statistics.lag_max_ns == 0


def test_thin_traffic_is_not_kept_waiting() -> None:
    thin = [(1_000_000 * n, 0, frame(n)) for n in range(1, 6)]
    io = FakeIo(thin)
    run(io, Forwarder({0: (1,)}), moderation_ns=500_000)
    assert [at for at, _, _ in io.sent] == [at for at, _, _ in thin]


def test_a_pacer_spreads_what_the_machine_has_ready() -> None:
    io, machine = FakeIo([(0, 0, frame(n, 1000)) for n in range(200)]), Forwarder({0: (1,)})
    run(
        io, machine, backpressure=True, pacer=Pacer(100_000_000, 10_000), moderation_ns=500_000
    )  # fmt: skip
    assert len(io.sent) == 200
    first, last = io.sent[0][0], io.sent[-1][0]
    covered_ns = 10_000 * 80 + 9_000_000 + 500_000
    assert 200 * 1000 * 80 - covered_ns <= last - first <= 200 * 1000 * 80 * 1.02


def test_answers_to_what_came_leave_before_what_a_deadline_asks_for() -> None:
    class Hashing(Forwarder):
        """Takes long at a deadline that a frame brings."""

        def __init__(self) -> None:
            super().__init__({0: (1,)})
            self.left = list[int]()

        def receive_frame(self, port: int, frame: Buffer, now: int) -> None:
            super().receive_frame(port, frame, now)
            self.timers.append(now)

        def handle_timer(self, now: int) -> None:
            super().handle_timer(now)
            self.left.append(len(self.queue))

    machine, io = Hashing(), FakeIo([(1_000_000, 0, frame(1)), (2_000_000, 0, frame(2))])
    run(io, machine)
    assert [at for at, _, _ in io.sent] == [1_000_000, 2_000_000]
    assert machine.left == [0, 0]


@pytest.mark.parametrize("dilation", [1, 3, 100])
def test_a_timer_is_met_when_its_emulated_time_has_come(dilation: int) -> None:
    io, machine = FakeIo(), Forwarder({})
    machine.timers = [1_000_000, 2_500_000]
    _, events = run(io, machine, clock=clock_of(io, dilation))
    assert [(at, event) for at, event in events if isinstance(event, Rang)] == [
        (1_000_000, Rang(1_000_000, 1_000_000)),
        (2_500_000, Rang(2_500_000, 2_500_000)),
    ]
    assert io.timeouts[:3] == [0, 1_000_000 * dilation, 1_500_000 * dilation]


def test_the_machine_is_told_emulated_times() -> None:
    io = FakeIo([(10_000, 0, frame(1)), (20_000, 0, frame(2))])
    machine = Forwarder({0: (1,)})
    statistics, events = run(io, machine, clock=clock_of(io, 10))
    assert [sent[0] for sent in io.sent] == [10_000, 20_000]
    assert statistics.wall_ns == io.now
    assert events[-1][0] == io.now // 10


def test_moderation_is_a_span_of_emulated_time() -> None:
    dense = [(10 * at, port, data) for at, port, data in DENSE]
    slow, quick = FakeIo(dense), FakeIo(DENSE)
    run(slow, Forwarder({0: (1, 2, 3)}), moderation_ns=500_000, clock=clock_of(slow, 10))
    run(quick, Forwarder({0: (1, 2, 3)}), moderation_ns=500_000)
    assert [(at // 10, port, data) for at, port, data in slow.sent] == quick.sent
    assert slow.timeouts == [timeout * 10 if timeout > 0 else timeout for timeout in quick.timeouts]
