"""A port obeys: compared with a model that asks every ns, and by hand."""

from hypothesis import given
from hypothesis import strategies as st

from switch_nodes.lossless.pauses import Interval, PauseState

RATE = 512 * 10**9
"""one quantum is one ns"""


def test_a_pause_begins_after_the_response_time_and_ends_with_its_own():
    pauses = PauseState(RATE, 10)
    pauses.hear({3: 100}, 1000)
    assert [pauses.may_begin(3, time) for time in (1000, 1009, 1010, 1099, 1100)] == [True, True, False, False, True]
    assert pauses.may_begin(4, 1050)
    pauses.tick(1100)
    assert pauses.ended() == [Interval(3, 1010, 1100)]
    assert pauses.ended() == []


def test_a_later_frame_replaces_the_time_and_other_classes_keep_theirs():
    pauses = PauseState(RATE, 0)
    pauses.hear({3: 100, 5: 40}, 0)
    pauses.hear({3: 20}, 50)
    assert [pauses.may_begin(3, time) for time in (69, 70)] == [False, True]
    assert [pauses.may_begin(5, time) for time in (39, 40)] == [False, True]
    assert pauses.pauses[3] == 2


def test_zero_resumes_at_once_and_a_pause_that_never_began_is_none():
    pauses = PauseState(RATE, 10)
    pauses.hear({3: 100}, 0)
    pauses.hear({3: 0}, 5)
    assert pauses.may_begin(3, 20)
    assert pauses.ended() == []
    pauses.hear({3: 100}, 30)
    pauses.hear({3: 0}, 60)
    assert pauses.may_begin(3, 60)
    assert pauses.ended() == [Interval(3, 40, 60)]


frames = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 40)), max_size=12)


@given(frames, st.integers(0, 12))
def test_as_a_model_that_looks_every_ns(frames, response):
    pauses, time = PauseState(RATE, response), 0
    heard = []
    for gap, quanta in frames:
        time += gap
        heard.append((time, quanta))
    begun, until, paused, start = -1, -1, [], 0
    for now in range(time + 60):
        if until <= now:
            begun = until = -1
        for at, quanta in heard:
            if at == now:
                pauses.hear({3: quanta}, now)
                if quanta:
                    begun = now + response if begun < 0 else begun
                    until = now + quanta
                else:
                    begun = until = -1
        expected = not (0 <= begun <= now < until)
        assert pauses.may_begin(3, now) is expected
        start += not expected
        paused.append(start)
        assert pauses.paused_ns(3, now + 1) in (paused[-1], paused[-1] - 1, paused[-1] + 1)
    pauses.finish(time + 60)
    assert sum(each.until - each.since for each in pauses.ended()) == paused[-1]
