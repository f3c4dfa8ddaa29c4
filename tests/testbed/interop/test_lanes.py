"""Several guests that share one list of cases, each lane a process. The guests are none."""

from __future__ import annotations

import os
import signal
import time

import pytest

from testbed.history.verdict import Verdict
from testbed.interop import lanes
from testbed.interop.cases import Case
from testbed.interop.judging import CaseOutcome
from testbed.interop.lane import LaneFacts, Task
from testbed.interop.lanes import guests_for, run_lanes
from testbed.kernel.processes import identify, is_alive
from workloads.errors import HostCapabilityError, InternalError

TASKS = [Task(number, Case(f"group/{number}"), 1) for number in range(1, 9)]


def outcome(task, detail=""):
    return CaseOutcome(task.case.id, Verdict.PASS, detail, (), 0, None, 0.1)


def run(serve, count=2, tasks=TASKS):
    """(outcomes by the number of their task, what was said, facts)"""
    outcomes, said = {}, []
    facts = run_lanes(
        count, tasks, serve, tell=lambda task, found: outcomes.setdefault(task.number, found), say=said.append
    )
    return outcomes, said, facts


def serve_all(lane, take, tell, say):
    say(f"lane {lane} in {os.getpid()}")
    while (task := take()) is not None:
        tell(task, outcome(task, f"{lane} {os.getpid()}"))
    return LaneFacts(float(lane), {"kernel": "6.1"})


def test_one_lane_runs_here():
    outcomes, said, facts = run(serve_all, 1)
    assert said == [f"lane 1 in {os.getpid()}"]
    assert list(outcomes) == [task.number for task in TASKS]
    assert facts == [LaneFacts(1.0, {"kernel": "6.1"})]


def test_lanes_are_processes_and_each_task_is_done_once():
    def one_each_then_the_rest(lane, take, tell, say):
        """No lane takes a second task before the other has one."""
        tell(first := take(), outcome(first, f"{lane} {os.getpid()}"))
        time.sleep(0.2)
        return serve_all(lane, take, tell, say)

    outcomes, said, facts = run(one_each_then_the_rest)
    assert sorted(outcomes) == [task.number for task in TASKS]
    assert {found.case for found in outcomes.values()} == {task.case.id for task in TASKS}
    where = {found.detail for found in outcomes.values()}
    assert {word.split()[0] for word in where} == {"1", "2"}
    assert len(where) == 2
    assert str(os.getpid()) not in {word.split()[1] for word in where}
    assert len(said) == 2
    assert facts == [LaneFacts(1.0, {"kernel": "6.1"}), LaneFacts(2.0, {"kernel": "6.1"})]


@pytest.mark.parametrize("error", [InternalError("the guest ended"), HostCapabilityError("QEMU", "install it")])
def test_what_a_lane_raises_is_raised_here_and_ends_the_others_in_order(tmp_path, error):
    def serve(lane, take, tell, say):
        if lane == 2:
            while not (tmp_path / "begun").exists():
                time.sleep(0.01)
            raise error
        try:
            (tmp_path / "begun").touch()
            time.sleep(60)
        finally:
            (tmp_path / "in order").write_text(str(os.getpid()))
        return LaneFacts(1.0, {})

    with pytest.raises(type(error)) as caught:
        run(serve)
    assert str(caught.value) == str(error)
    assert (tmp_path / "in order").exists()


def test_a_lane_that_vanishes_is_told():
    def serve(lane, take, tell, say):
        if lane == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        return serve_all(lane, take, tell, say)

    with pytest.raises(InternalError, match=r"lane 1 ended with -9 and without a word"):
        run(serve)


def test_a_lane_that_does_not_end_is_killed(monkeypatch, tmp_path):
    monkeypatch.setattr(lanes, "_END_S", 0.2)

    def serve(lane, take, tell, say):
        if lane == 2:
            while not (tmp_path / "pid").exists():
                time.sleep(0.01)
            raise InternalError("enough")
        while True:
            try:
                (tmp_path / "pid").write_text(str(os.getpid()))
                time.sleep(60)
            except KeyboardInterrupt:
                continue

    with pytest.raises(InternalError, match="enough"):
        run(serve)
    left = identify(int((tmp_path / "pid").read_text()))
    assert left is None or not is_alive(left)


@pytest.mark.parametrize(
    ("cases", "processors", "guests"), [(75, 2, 2), (75, 1, 1), (15, 2, 1), (16, 2, 2), (1, 8, 1), (75, 64, 4)]
)
def test_a_guest_per_processor_where_the_cases_pay_for_it(cases, processors, guests):
    assert guests_for(cases, processors) == guests
