from __future__ import annotations

import pytest

from testbed.interop.busy_timeouts import doublings, patient
from testbed.interop.cases import CASES, case_scenario, choose_cases
from testbed.interop.peercases import PeerCase


@pytest.mark.parametrize(
    ("booted_s", "times"), [(0.0, 0), (3.0, 0), (12.5, 0), (15.0, 0), (16.0, 1), (30.0, 1), (45.0, 2), (1e6, 4)]
)
def test_a_slow_boot_doubles_timeouts(booted_s, times):
    assert doublings(booted_s) == times


def test_every_case_is_still_a_case_and_none_is_less_patient():
    for case in CASES:
        slow = patient(case, 2)
        assert (slow.id, slow.hosts, patient(case, 0)) == (case.id, case.hosts, case)
        if isinstance(case, PeerCase):
            assert slow.timeout_code - case.timeout_code == (2 if case.status == "SUCCESS" else 0)
        elif case.kind == "allreduce":
            before, after = case_scenario(case, 1), case_scenario(slow, 1)
            dies = bool(case.must_fail) or "retry_count" in case.transport
            assert after.transport.timeout_code - before.transport.timeout_code == (0 if dies else 2)
            assert after.time_limit_ns == before.time_limit_ns * (1 if dies else 4)
            assert after.faults == before.faults


def test_queue_pairs_that_have_to_die_keep_their_timers():
    for case in choose_cases(("patience/straggler-too-late", "control/dead-switch", "peer/dead-path-from-rxe")):
        assert patient(case, 3) is case
