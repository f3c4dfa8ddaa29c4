"""Timers that are `auto`: worked out by hand, and how they follow rates, windows, sharing and slow workers."""

from __future__ import annotations

from dataclasses import replace

import pytest

from testbed.plan import Plan, auto_timers, make_plan
from testbed.plan.auto_timers import processor_wait_ns
from testbed.plan.timers import RoundTrip, Timer, Timers
from testbed.scenario import load_scenario
from testbed.scenario.model import Scenario
from tests.support.scaled import at_rate

FRAME, SECOND = 1024 + 58, 1_000_000_000
"""bytes of a full RoCE packet"""


def _planned(name: str, *changes: str) -> Plan:
    return make_plan(load_scenario(name, changes, world="simulated"))


def _ns(plan: Plan, key: str) -> int:
    return next(timer.ns for timer in plan.timers.each if timer.key == key)


def test_the_parts_of_a_round_trip() -> None:
    trip = _planned("rack-lossy").timers.trip
    frame_ns = 8 * FRAME * SECOND // 100_000_000
    # Two links: each frame there, its answer of 70 bytes back, and one more frame's time at each end.
    assert trip.empty_ns == pytest.approx(2 * (3 * frame_ns + 8 * 70 * 10), abs=2)
    assert trip.queued_ns == pytest.approx(4 * 32 * frame_ns, abs=2)
    assert trip.slower_ns == 0


@pytest.mark.parametrize("name", ["rack-lossy", "ring", "irn-lossy", "switchml", "atp", "grid-lossy", "dlcp", "repair"])
def test_timers_follow_the_links(name: str) -> None:
    slow, fast = (make_plan(at_rate(load_scenario(name, (), world="simulated"), factor)) for factor in (1, 1000))
    for old, new in zip(slow.timers.each, fast.timers.each, strict=True):
        assert old.is_auto
        assert new.is_auto
        assert 450 < old.ns / new.ns < 2100  # codes are powers of two


def test_codes_are_rounded_up() -> None:
    plan = _planned("rack-lossy")
    wanted = 3 * plan.timers.trip.queueing_ns
    assert 4096 << 13 < wanted <= 4096 << 14
    assert {worker.to_successor.timeout_code for worker in plan.ring_workers} == {14}


def test_delays_and_jitter_count_both_ways() -> None:
    calm = _planned("rack-lossy").timers.trip
    late = _planned("rack-lossy", "topology.link.delay=3ms", "topology.link.jitter=1ms").timers.trip
    assert late.empty_ns - calm.empty_ns == 2 * 2 * 4_000_000


def test_senders_that_share_a_link_wait_for_each_other() -> None:
    one, two = (_planned(name).timers.trip.queued_ns for name in ("atp", "atp-two-jobs"))
    assert two == 2 * one


def test_a_full_queue_bounds_the_wait() -> None:
    long, short = (_planned("repair-direct-lossy", f"topology.link.queue={queue}") for queue in (1000, 4))
    assert short.timers.trip.queued_ns < long.timers.trip.queued_ns
    frame_ns = 8 * long.workers[0].framing.frame_bytes * SECOND / 50_000_000
    assert short.timers.trip.queued_ns == pytest.approx(5 * frame_ns, abs=2)


def test_queues_of_other_tenants_may_be_full() -> None:
    trip = _planned("congested").timers.trip
    assert trip.queued_ns == 401 * 1500 * 8 * SECOND // 50_000_000


def test_a_link_with_room_for_its_senders_holds_no_window() -> None:
    trip = _planned("ring").timers.trip  # 977 packets may be under way, and only 64 are unanswered
    assert trip.queued_ns == pytest.approx(64 * 8 * FRAME * 10, abs=2)


def test_a_sum_waits_for_the_slowest_worker() -> None:
    trip = _planned("straggler").timers.trip
    assert trip.slower_ns == 300_000_000
    assert _ns(_planned("straggler", "transport.timeout=auto"), "timeout") >= 300_000_000
    # Answers on a ring come from the next host's endpoint, whatever its worker computes.
    ring = _planned("straggler", "transport.timeout=auto", "job.protocol=ring", "switch.program=forward")
    assert ring.timers.trip.slower_ns == 0


def test_jitter_of_computing_is_waiting_too() -> None:
    trip = _planned("jobs-8").timers.trip
    work = make_plan(load_scenario("jobs-8", (), world="simulated")).groups[8][0].workload
    assert work.compute is not None
    takes = sum(layer.forward_ns + layer.backward_ns for layer in work.compute.layers)
    assert trip.slower_ns == pytest.approx(0.2 * takes, abs=2)


@pytest.mark.parametrize("name", ["rack-lossy", "irn-lossy", "irn-ring-sprayed", "switchml", "dlcp-ina", "grid-lossy"])
def test_both_worlds_have_the_same_timers(name: str) -> None:
    simulated, emulated = (make_plan(load_scenario(name, (), world=world)) for world in ("simulated", "emulated"))
    assert simulated.timers == emulated.timers
    dilated = make_plan(load_scenario(name, ["dilation=20"], world="emulated"))
    assert dilated.timers.each == emulated.timers.each  # in emulated time


def test_a_process_waits_for_the_turns_of_all_others() -> None:
    assert processor_wait_ns(10, 2, 1) == 16_000_000
    assert processor_wait_ns(10, 2, 20) == 800_000
    assert processor_wait_ns(10, 4, 1) == 6_000_000
    assert processor_wait_ns(4, 4, 1) == processor_wait_ns(3, 4, 1) == 0


@pytest.mark.parametrize("recovery", ["gbn", "irn"])
def test_real_time_covers_a_wait_for_a_processor(monkeypatch: pytest.MonkeyPatch, recovery: str) -> None:
    monkeypatch.setattr(auto_timers, "processors", lambda: 2)
    changes = [
        "switch.program=forward",
        "topology.hosts=8",
        "topology.link.rate=1Gbps",
        f"transport.recovery={recovery}",
    ]
    changes += ["job.protocol=mesh", "job.size=4B"]

    def planned(world: str, *more: str) -> Plan:
        return make_plan(load_scenario("rack", [*changes, *more], world=world))

    virtual, real, dilated = (
        planned("simulated"),
        planned("emulated", "dilation=1"),
        planned("emulated", "dilation=100"),
    )
    assert virtual.timers.processor_ns == 0
    assert real.timers.processor_ns == 14_000_000  # eight hosts and a switch
    assert _ns(virtual, "timeout") < 14_000_000 < _ns(real, "timeout") == 4096 << 12
    assert {qp.timeout_code for worker in real.ring_workers for qp in worker.queue_pairs} == {12}
    assert real.timers.document["processor_ns"] == 14_000_000
    assert dilated.timers.each == virtual.timers.each
    assert real.timers.each[1:] == virtual.timers.each[1:]  # they only have packets sent again
    assert _ns(planned("emulated", "dilation=1", "transport.timeout=5"), "timeout") == 4096 << 5


def test_connections_that_share_a_link_lengthen_the_timer_of_irn() -> None:
    alone, shared = _planned("irn-ring-lossy"), _planned("sharded-ps-lossy")
    assert alone.timers.trip.empty_ns == shared.timers.trip.empty_ns
    assert _ns(shared, "rto_low") > _ns(alone, "rto_low")
    for plan in (alone, shared):
        assert {qp.irn.rto_low_ns for worker in plan.ring_workers for qp in worker.queue_pairs} == {
            _ns(plan, "rto_low")
        }


def test_rto_high_is_bounded_by_the_worst_round_trip() -> None:
    for name, is_bounded in (("irn-lossy", False), ("irn-spine-leaf-lossy", False), ("sharded-ps-lossy", True)):
        plan = _planned(name)
        low, worst_ns = _ns(plan, "rto_low"), plan.timers.trip.queueing_ns
        assert (2 * worst_ns < 3.2 * low) is is_bounded
        assert _ns(plan, "rto_high") == pytest.approx(min(3.2 * low, 2 * worst_ns), rel=0.01)
    fast = make_plan(at_rate(load_scenario("irn-spine-leaf-lossy", (), world="simulated"), 1000))
    assert _ns(fast, "rto_high") == pytest.approx(2 * fast.timers.trip.queueing_ns, rel=0.01)


def test_rto_high_covers_queues_that_build_up_without_loss() -> None:
    """The accelerator takes less than its hosts send, and each sum waits for the packet that is last in its queue."""
    slow = _planned("accelerator-slow", "transport.recovery=irn")
    trip = slow.timers.trip
    assert trip.built_up_ns == trip.queued_ns > 3.2 * _ns(slow, "rto_low")
    assert _ns(slow, "rto_high") == pytest.approx(trip.queueing_ns, rel=0.01)
    cut = _planned("spine-leaf-trimmed")
    assert _ns(cut, "rto_high") == pytest.approx(3 * cut.timers.trip.queueing_ns, rel=0.01)
    assert _planned("rack", "transport.recovery=irn").timers.trip.built_up_ns == 0
    # Pairs of hosts wait for nobody else, and the cap of IRN bounds what is in a queue.
    assert _planned("rabenseifner-far-lossy").timers.trip.built_up_ns == 0


def test_irn_waits_for_the_slowest_worker_too() -> None:
    calm, late = (
        _planned("rack-lossy", "transport.recovery=irn", *more)
        for more in ((), ("job.straggler={rank: 2, delay: 1s}",))
    )
    for key in ("rto_low", "rto_high"):
        assert _ns(late, key) - _ns(calm, key) == pytest.approx(1_000_000_000, abs=10_000_000)


def test_what_a_file_fixes_stays() -> None:
    plan = _planned("irn-lossy", "transport.timeout=9", "transport.rto_low=3ms", "transport.rto_high=5ms")
    assert [timer.is_auto for timer in plan.timers.each] == [False] * 3
    qp = plan.ring_workers[0].to_successor
    assert (qp.timeout_code, qp.irn.rto_low_ns, qp.irn.rto_high_ns) == (9, 3_000_000, 5_000_000)
    assert _planned("switchml", "transport.rto=7ms").workers[0].rto_ns == 7_000_000  # type: ignore[attr-defined]


def test_a_shorter_rto_high_bounds_an_rto_low_that_is_auto() -> None:
    plan = _planned("irn-lossy", "transport.rto_high=1ms")
    assert (_ns(plan, "rto_low"), _ns(plan, "rto_high")) == (1_000_000, 1_000_000)


def test_devices_and_labs_have_a_floor() -> None:
    fast = load_scenario("rack", ["topology.link.rate=10Gbps"])
    real = replace(fast, nics=(("h1", "rxe0"),))
    assert _ns(make_plan(fast), "timeout") < 4096 << 15
    assert _ns(make_plan(real), "timeout") == 4096 << 15
    lab = replace(load_scenario("switchml", ["topology.link.rate=10Gbps"]), world="lab")
    assert _ns(make_plan(lab), "rto") == 10_000_000


def test_each_collective_has_its_timers_and_counts_the_others() -> None:
    plan = _planned("mixed-atp-rabenseifner")
    assert [[timer.key for timer in part.timers.each] for part in plan.parts] == [
        ["rto"], ["timeout", "rto_low", "rto_high"], ["rto"],
    ]  # fmt: skip
    for entry in plan.scenario.beside:
        assert (entry.transport.rto_ns, entry.transport.timeout_code) != (None, None)


def _warned(*timers: Timer) -> list[str]:
    return list(Timers(RoundTrip(1_000_000, 9_000_000, 5_000_000), timers).warnings())


def _timer(ns: int, key: str = "rto", *, is_auto: bool = False, is_repeat: bool = True) -> Timer:
    return Timer(key, ns, f"{ns} ns", is_auto, is_repeat)


def test_fixed_timers_are_warned_about_with_both_numbers() -> None:
    (low,) = _warned(_timer(9_999_999))
    assert "rto: 9999999 ns is below the worst queueing round trip (10.0 ms)" in low
    (high,) = _warned(_timer(150_000_001))
    assert "is 10 times the worst queueing round trip (10.0 ms) and the wait for the slowest worker (5.00 ms)" in high
    (short,) = _warned(_timer(999_999, "rto_low"))
    assert "below a round trip over empty queues (1.00 ms)" in short


@pytest.mark.parametrize(
    "timer",
    [
        _timer(10_000_000), _timer(150_000_000), _timer(1, is_auto=True), _timer(0, "timeout"),
        _timer(10**12, "timeout", is_repeat=False), _timer(1_000_000, "rto_low"),
    ],
)  # fmt: skip
def test_others_are_not(timer: Timer) -> None:
    assert _warned(timer) == []


def test_the_run_of_the_issue_has_a_short_timer_or_a_warning() -> None:
    def warned(scenario: Scenario) -> list[str]:
        return list(make_plan(scenario).timers.warnings())

    fast = load_scenario("rack", ["topology.link.rate=10Gbps"])
    assert warned(fast) == []
    assert _ns(make_plan(fast), "timeout") == 4096 << 8
    (warning,) = warned(load_scenario("rack", ["topology.link.rate=10Gbps", "transport.timeout=15"]))
    assert "transport.timeout: 15 (134 ms) is 448 times the worst queueing round trip (300 us)" in warning
