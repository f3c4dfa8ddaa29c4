"""What senders of `irn-rack` and `irn-held` may send again, by frames that a test makes up."""

from __future__ import annotations

from dataclasses import replace

import pytest

from testbed.hunt.irn_rules import IrnPair
from tests.support.irn_bench import ACK, IRN, NAK, Bench
from tests.support.rc_pair import START_PSNS


@pytest.fixture(params=START_PSNS)
def rack(request: pytest.FixtureRequest) -> Bench:
    return _recovering("irn-rack", request.param)


@pytest.fixture(params=START_PSNS)
def held(request: pytest.FixtureRequest) -> Bench:
    return _recovering("irn-held", request.param)


def _recovering(recovery: str, psn: int) -> Bench:
    bench = Bench(psn)
    bench.config = replace(bench.config, recovery=recovery)
    bench.pair = IrnPair(bench.config, lambda _, rule, what: bench.broken.append(rule))
    return bench


def test_what_left_before_something_that_arrived_may_be_sent_again_each_time(rack: Bench) -> None:
    rack.sends(0, 1, 2, 3)
    rack.hears(NAK, 0, 3)
    rack.sends(1)
    assert rack.broken == []
    rack.sends(1)
    assert rack.broken == ["holes_alone_again"]


def test_a_timer_has_each_hole_sent_again_once(rack: Bench) -> None:
    """Where packets may wait in the network, what is lost again is found by the timer alone."""
    rack.sends(0, 1, 2, 3)
    rack.hears(NAK, 0, 2)
    rack.sends(1)
    rack.waits_and_sends(0, 1)
    assert rack.broken == []
    rack.sends(1)
    assert rack.broken == ["holes_alone_again"]


def test_a_timer_is_used_up_by_the_oldest_packet_whatever_else_asked_for_that(rack: Bench) -> None:
    rack.sends(0, 1, 2, 3)
    rack.hears(NAK, 0, 3)
    rack.waits_and_sends(0, 1)
    rack.waits_and_sends(0, 1)
    assert rack.broken == []
    rack.sends(0)
    assert rack.broken == ["timers_wait"]


def test_what_a_timer_asked_for_may_have_become_the_oldest_when_it_leaves(rack: Bench) -> None:
    rack.sends(0, 1, 2, 3)
    rack.hears(NAK, 0, 2)
    rack.sends(1)
    rack.waits_and_sends()
    rack.hears(ACK, 1, 0)
    rack.sends(1)
    assert rack.broken == []
    rack.sends(1)
    assert rack.broken == ["timers_wait"]


def test_a_timer_asks_for_nothing_behind_what_arrived(rack: Bench) -> None:
    rack.sends(0, 1, 2, 3)
    rack.hears(NAK, 0, 2)
    rack.sends(1)
    rack.waits_and_sends(0, 3)
    assert rack.broken == ["holes_alone_again"]


def test_where_packets_keep_their_order_no_timer_asks_for_holes(rack: Bench) -> None:
    config = replace(rack.pair.config, irn=replace(IRN, in_order=True))
    rack.pair = IrnPair(config, lambda _, rule, what: rack.broken.append(rule))
    rack.sends(0, 1, 2, 3)
    rack.hears(NAK, 0, 2)
    rack.sends(1)
    rack.waits_and_sends(0, 1)
    assert rack.broken == ["holes_alone_again"]


def test_a_timer_is_used_up_by_the_oldest_packet_even_if_a_map_asked_for_that(held: Bench) -> None:
    held.sends(0, 1, 2)
    held.told(0, 3, 0b100, newest=2)
    held.waits_and_sends(0, 1)
    assert held.broken == []
    held.sends(0)
    assert held.broken == ["timers_wait"]


@pytest.mark.parametrize("recovery", ["irn", "irn-rack", "irn-held"])
def test_what_a_timer_asked_for_may_leave_after_later_timers_once(recovery: str) -> None:
    """Found by a hunt: PFC paused the host in between."""
    bench = _recovering(recovery, 0)
    bench.sends(0, 1, 2)
    bench.waits_and_sends(0)
    bench.hears(ACK, 1, 0)
    bench.waits_and_sends(1)  # nothing but 0 came since the last timer: the sender takes 2 for lost, too
    bench.waits_and_sends()
    bench.waits_and_sends(1, 2)
    assert bench.broken == []
    bench.sends(2)
    assert bench.broken == ["holes_alone_again"]
