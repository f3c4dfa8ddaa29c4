from testbed.faults.model import Drop, Kill, Pause, RateChange, Window
from testbed.worlds.emulated.schedule import Act, Action, effective_rate, make_schedule
from topologies import Direction

UP, DOWN = Direction.UP, Direction.DOWN


def test_actions_are_in_time_order_and_healing_comes_first() -> None:
    faults = [
        Pause("pause-1", "h1", Window(5, 9)),
        Kill("kill-1", "s1", Window(9, None)),
        Kill("kill-2", "h2", Window(1, 5)),
        RateChange("rate-1", ("h1-s1",), (UP,), Window(2, 9), 1000),
        Drop("drop-1", ("h1-s1",)),
    ]
    assert make_schedule(faults) == (
        Action(1, Act.KILL, "kill-2", "h2"),
        Action(2, Act.CHANGE_RATE, "rate-1", "h1-s1", UP),
        Action(5, Act.RESTART, "kill-2", "h2"),
        Action(5, Act.PAUSE, "pause-1", "h1"),
        Action(9, Act.RESUME, "pause-1", "h1"),
        Action(9, Act.RESTORE_RATE, "rate-1", "h1-s1", UP),
        Action(9, Act.KILL, "kill-1", "s1"),
    )


def test_the_window_that_began_last_sets_the_rate() -> None:
    faults = [
        RateChange("outer", ("h1-s1", "h2-s1"), (UP, DOWN), Window(10, 40), 500),
        RateChange("inner", ("h1-s1",), (UP,), Window(20, 30), 900),
    ]
    rates = [effective_rate(faults, "h1-s1", UP, at, 700) for at in (9, 10, 20, 29, 30, 39, 40)]
    assert rates == [700, 500, 900, 900, 500, 500, 700]
    assert effective_rate(faults, "h1-s1", DOWN, 25, 700) == 500
    assert effective_rate(faults, "h3-s1", UP, 25, 700) == 700
