import pytest

from testbed.worlds.simulated.agenda import Agenda


def order(seed, times_and_actors):
    agenda, kept = Agenda(seed), []
    for number, (time, actor) in enumerate(times_and_actors):
        agenda.at(time, actor, kept.append, (time, actor, number))
    while agenda.next_time() is not None:
        agenda.step()
        assert agenda.now == kept[-1][0]
    return kept


def test_time_comes_first():
    assert [time for time, _, _ in order(1, [(30, 0), (10, 5), (20, 2)])] == [10, 20, 30]


def test_equal_times_are_ordered_by_the_seed_and_differently_at_other_times():
    actors = range(6)
    at = lambda seed, time: [actor for _, actor, _ in order(seed, [(time, actor) for actor in actors])]  # noqa: E731
    assert at(1, 100) == at(1, 100)
    assert len({tuple(at(seed, 100)) for seed in range(20)}) > 10
    assert len({tuple(at(1, time)) for time in range(20)}) > 10


def test_no_actor_is_always_first():
    firsts = {order(3, [(time, 0), (time, 1)])[0][1] for time in range(50)}
    assert firsts == {0, 1}


def test_one_actor_keeps_its_own_order():
    kept = order(9, [(5, number % 3) for number in range(60)])
    for actor in range(3):
        own = [number for _, who, number in kept if who == actor]
        assert own == sorted(own)


def test_an_empty_agenda():
    with pytest.raises(IndexError):
        Agenda(1).step()


def test_what_is_over_is_kept_late_at_the_floor_and_in_order():
    agenda, kept = Agenda(1), []
    for time in (5, 20, 10, 40):
        agenda.at(time, time, lambda due: kept.append((due, agenda.now)), time)
    agenda.floor = 15
    assert agenda.run(30, lambda: True) is False
    assert kept == [(5, 15), (10, 15), (20, 20)]
