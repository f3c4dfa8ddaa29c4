"""Each rule of LosslessMachine is needed: without it, a test of test_machine.py fails."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from testbed.worlds.emulated.lossless.machine import _ARRIVALS, LosslessMachine
from tests.testbed.worlds.emulated.lossless import test_machine as rules
from workloads.machine import Buffer

pytestmark = pytest.mark.protocols("ring")


def _lost_time(machine: LosslessMachine, now: int) -> None:
    """Rule 1: what was due is done now, not when it was due."""
    machine.agenda.floor = now
    _run(machine, now)


def _everything_made_good(machine: LosslessMachine, now: int) -> None:
    """Rule 2: without a limit."""
    _run(machine, now)


def _run(machine: LosslessMachine, now: int) -> None:
    machine.agenda.run(now, lambda: True)
    machine.agenda.now = max(machine.agenda.now, now)


def _pfc_after_the_rest(machine: LosslessMachine, port: int, frame: Buffer, now: int) -> None:
    """Rule 3: a PFC frame comes when the process sees it."""
    machine.agenda.appoint(now, _ARRIVALS + port, machine._arrivals, port, bytes(frame))


@pytest.mark.parametrize(
    ("verb", "mutant", "test"),
    [
        ("_catch_up", _lost_time, rules.test_nodes_that_wake_up_late_keep_the_rate_of_the_link),
        (
            "_catch_up",
            _everything_made_good,
            rules.test_a_node_that_stood_still_does_not_send_later_what_it_could_have_sent,
        ),
        (
            "receive_frame",
            _pfc_after_the_rest,
            rules.test_a_pfc_frame_counts_from_before_what_the_node_makes_good,
        ),
    ],
)
def test_a_mutant_is_found(
    verb: str, mutant: Callable[..., None], test: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    test()
    monkeypatch.setattr(LosslessMachine, verb, mutant)
    with pytest.raises(AssertionError):
        test()
