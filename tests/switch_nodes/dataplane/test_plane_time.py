"""When the loop wakes up: timers, moderation, pace, dilation. In virtual time, without sockets."""

from __future__ import annotations

from typing import Any

import pytest

from switch_nodes.dataplane import Pacer
from tests.support.machines import Forwarder, Rang
from tests.support.planes import FakeIo, clock_of, frame, run
from workloads.machine import Buffer


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
