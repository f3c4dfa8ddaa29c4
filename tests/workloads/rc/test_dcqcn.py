from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workloads.config import DcqcnConfig
from workloads.events import RateChanged
from workloads.rc.dcqcn import NotificationPoint, ReactionPoint
from workloads.rc.dcqcn_table import REACTION_TABLE, ReactionAction, ReactionEvent, ReactionState
from workloads.rc.tally import Outbox

MS = 10**6
LINE = 100_000_000
CONFIG = DcqcnConfig(
    line_rate_bps=LINE, min_rate_bps=1_000_000, additive_bps=100_000, hyper_bps=500_000, alpha_timer_ns=22 * MS,
    increase_timer_ns=22 * MS, byte_counter_bytes=1_000_000, cnp_interval_ns=20 * MS, cut_period_ns=2 * MS,
)  # fmt: skip


def point(**changes):
    outbox = Outbox()
    return ReactionPoint(replace(CONFIG, **changes), 7, outbox), outbox.events


def ticks(reaction, count):
    for _ in range(count):
        assert reaction.deadline is not None
        reaction.on_timer(reaction.deadline)


def test_at_most_one_notice_per_interval():
    receiver = NotificationPoint(20 * MS)
    assert [receiver.on_marked(now * MS) for now in (1, 2, 20, 21, 40, 41)] == [True, False, False, True, False, True]
    assert (receiver.marked, receiver.notices) == (6, 3)


def test_the_first_notice_halves_the_rate():
    reaction, events = point()
    assert reaction.may_send(0)
    assert reaction.deadline is None
    reaction.on_cnp(5 * MS)
    assert (reaction.rate_bps, reaction.target_bps, reaction.alpha) == (LINE // 2, LINE, 1.0)
    assert reaction.deadline == 27 * MS
    assert list(events) == [RateChanged(7, "cnp", "recovery", LINE // 2, LINE, 1.0)]


def test_no_cut_goes_below_the_least_rate():
    reaction, events = point()
    for now in range(10):
        reaction.on_cnp(now * 2 * MS)
    assert reaction.rate_bps == CONFIG.min_rate_bps
    assert [event.rate_bps for event in events][-1] == CONFIG.min_rate_bps
    assert len(events) < 10, "a cut that changes nothing is not told"


def test_alpha_decays_without_notices_and_then_cuts_less():
    """g = 1/256: 256 periods leave (255/256)^256 = 0.3672 of it."""
    reaction, _ = point()
    reaction.on_cnp(0)
    reaction.on_cnp(256 * 22 * MS)
    decayed = (255 / 256) ** 256
    assert decayed == pytest.approx(0.3672, abs=1e-4)
    assert reaction.rate_bps == int(LINE / 2 * (1 - decayed / 2))
    assert reaction.alpha == pytest.approx(255 / 256 * decayed + 1 / 256)


def test_notices_within_the_cut_period_cut_once():
    reaction, _ = point()
    reaction.on_cnp(0)
    reaction.on_cnp(2 * MS - 1)
    assert (reaction.rate_bps, reaction.cuts, reaction.cnps) == (LINE // 2, 1, 2)
    reaction.on_cnp(2 * MS)
    assert (reaction.rate_bps, reaction.target_bps, reaction.cuts) == (LINE // 4, LINE // 2, 2)


def test_recovery_halves_the_gap_then_the_target_moves_up():
    reaction, _ = point()
    reaction.on_cnp(0)
    reaction.on_cnp(2 * MS)
    rates = []
    for _ in range(6):
        ticks(reaction, 1)
        rates.append((reaction.rate_bps, reaction.target_bps))
    assert [rate for rate, _ in rates[:4]] == [37_500_000, 43_750_000, 46_875_000, 48_437_500]
    assert {target for _, target in rates[:4]} == {LINE // 2}
    assert [target for _, target in rates[4:]] == [50_100_000, 50_200_000]
    assert reaction.state is ReactionState.ADDITIVE
    assert rates[4][0] == (48_437_500 + 50_100_000) // 2


def test_bytes_count_as_the_timer_does_and_both_together_leap():
    reaction, events = point(line_rate_bps=1_000_000_000, min_rate_bps=1)
    for now in (0, 2 * MS, 4 * MS):
        reaction.on_cnp(now)
    for _ in range(5):
        reaction.on_sent(1_000_000, 5 * MS)
    assert reaction.state is ReactionState.ADDITIVE
    assert events[-1].cause == "bytes"
    ticks(reaction, 6)  # of the timer; of the byte counter there were five
    assert reaction.state is ReactionState.ADDITIVE
    before = reaction.target_bps
    reaction.on_sent(999_999, 200 * MS)
    reaction.on_sent(1, 200 * MS)
    assert (reaction.state, reaction.target_bps) == (ReactionState.HYPER, before + 500_000)
    reaction.on_sent(1_000_000, 200 * MS)
    assert reaction.target_bps == before + 2 * 500_000, "the timer has asked only once beyond F: i is still 1"
    ticks(reaction, 1)
    assert reaction.target_bps == before + 2 * 500_000 + 2 * 500_000


def test_a_notice_starts_the_counting_anew():
    reaction, _ = point()
    reaction.on_cnp(0)
    ticks(reaction, 5)
    assert reaction.state is ReactionState.ADDITIVE
    reaction.on_sent(900_000, 100 * MS)
    reaction.on_cnp(120 * MS)
    assert (reaction.state, reaction.deadline) == (ReactionState.RECOVERY, 142 * MS)
    rate = reaction.rate_bps
    reaction.on_sent(100_001, 121 * MS)
    assert reaction.rate_bps == rate, "bytes before the cut do not count"


def test_without_notices_the_rate_comes_back_to_that_of_the_line_and_nothing_runs_any_more():
    reaction, events = point()
    for now in range(5):
        reaction.on_cnp(now * 2 * MS)
    for _ in range(100_000):
        if reaction.deadline is None:
            break
        ticks(reaction, 1)
    assert (reaction.state, reaction.rate_bps, reaction.deadline) == (ReactionState.LINE_RATE, LINE, None)
    rates = [event.rate_bps for event in list(events)[5:]]
    assert rates == sorted(rates)
    assert events[-1].state == "line_rate"


def test_a_limited_sender_keeps_its_rate():
    reaction, _ = point(increase_timer_ns=10**12, byte_counter_bytes=10**12)
    reaction.on_cnp(0)
    now, packets = 0, 0
    while now < 1000 * MS:
        if reaction.may_send(now):
            reaction.on_sent(1000, now)
            packets += 1
        else:
            assert reaction.deadline is not None
            now = reaction.deadline
            reaction.on_timer(now)
    assert packets == LINE // 2 // 8000


def test_late_timers_count_each_period():
    late, prompt = point()[0], point()[0]
    for reaction in (late, prompt):
        reaction.on_cnp(0)
    ticks(prompt, 3)
    late.on_timer(3 * 22 * MS)
    assert (late.rate_bps, late.deadline) == (prompt.rate_bps, prompt.deadline)


@given(st.lists(st.tuples(st.sampled_from(["cnp", "timer", "bytes"]), st.integers(0, 50 * MS)), max_size=200))
def test_whatever_happens_rates_and_alpha_stay_in_their_bounds(steps):
    reaction, events = point()
    now = 0
    for what, wait in steps:
        now += wait
        before = reaction.rate_bps
        if what == "cnp":
            reaction.on_cnp(now)
            assert reaction.rate_bps <= before
        elif what == "timer":
            reaction.on_timer(now)
        elif reaction.may_send(now):
            reaction.on_sent(300_000, now)
        assert CONFIG.min_rate_bps <= reaction.rate_bps <= reaction.target_bps <= LINE
        assert 0 <= reaction.alpha <= 1
    for event in events:
        assert event.cause != "cnp" or event.rate_bps < LINE


def test_every_state_says_what_it_does_with_every_event():
    assert set(REACTION_TABLE) == {(state, event) for state in ReactionState for event in ReactionEvent}
    for (state, event), step in REACTION_TABLE.items():
        if event is ReactionEvent.CNP:
            assert step.actions[0] is ReactionAction.CUT
        elif state is ReactionState.LINE_RATE:
            assert step.state is state
