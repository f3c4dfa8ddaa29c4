"""The watchdog acts after the detection time and lets go after the restoration time."""

import pytest

from switch_nodes.lossless.pauses import PauseState
from switch_nodes.lossless.watchdog import Watchdog, WatchdogAction, WatchdogKnobs

RATE = 512 * 10**9
"""one quantum is one ns"""


def storm(action):
    pauses = PauseState(RATE, 0)
    watchdog, found = Watchdog(WatchdogKnobs(action, 1000, 500, 100), pauses), []
    for now in range(0, 6000, 100):
        if now < 3000:
            pauses.hear({3: 200}, now)
        found += [(now, *each) for each in watchdog.poll(now)]
    return found, watchdog, pauses


@pytest.mark.parametrize("action", list(WatchdogAction))
def test_it_acts_and_restores(action):
    found, watchdog, pauses = storm(action)
    assert found == [(1000, 3, True), (3400, 3, False)]
    assert not watchdog.is_any()
    assert not pauses.ignored[3]


@pytest.mark.parametrize(
    ("action", "passes", "drops"),
    [(WatchdogAction.DROP, True, True), (WatchdogAction.FORWARD, True, False), (WatchdogAction.ALERT, False, False)],
)
def test_what_each_action_does(action, passes, drops):
    pauses = PauseState(RATE, 0)
    watchdog = Watchdog(WatchdogKnobs(action, 1000, 500, 100), pauses)
    pauses.hear({3: 60000}, 0)
    watchdog.poll(999)
    assert (pauses.may_begin(3, 999), watchdog.drops(3)) == (False, False)
    watchdog.poll(1000)
    assert (pauses.may_begin(3, 1000), watchdog.drops(3), watchdog.is_acting(3)) == (passes, drops, True)


def test_a_pause_that_ends_in_between_starts_the_time_again():
    pauses = PauseState(RATE, 0)
    watchdog = Watchdog(WatchdogKnobs(WatchdogAction.DROP, 1000, 500, 100), pauses)
    pauses.hear({3: 900}, 0)
    pauses.tick(900)
    pauses.hear({3: 900}, 950)
    assert watchdog.poll(1800) == []
