"""Several guests that share one list of cases, each with a process. The guests are none."""

from __future__ import annotations

import multiprocessing
import os
import signal
import time

import pytest

from testbed.history.verdict import Verdict
from testbed.interop import guest_pool
from testbed.interop.cases import Case
from testbed.interop.guest_cases import GuestBoot, Task
from testbed.interop.guest_pool import guests_for, run_guests
from testbed.interop.judging import CaseOutcome
from testbed.kernel.processes import identify, is_alive
from workloads.errors import HostCapabilityError, InternalError

TASKS = [Task(number, Case(f"group/{number}"), 1) for number in range(1, 9)]


def outcome(task, detail=""):
    return CaseOutcome(task.case.id, Verdict.PASS, detail, (), 0, None, 0.1)


def run(serve, count=2, tasks=TASKS):
    """(outcomes by the number of their task, what was said, facts)"""
    outcomes, said = {}, []
    facts = run_guests(
        count, tasks, serve, tell=lambda task, found: outcomes.setdefault(task.number, found), say=said.append
    )
    return outcomes, said, facts


def serve_all(guest, take, tell, say):
    say(f"guest {guest} in {os.getpid()}")
    while (task := take()) is not None:
        tell(task, outcome(task, f"{guest} {os.getpid()}"))
    return GuestBoot(float(guest), {"kernel": "6.1"})


def test_one_guest_runs_here():
    outcomes, said, facts = run(serve_all, 1)
    assert said == [f"guest 1 in {os.getpid()}"]
    assert list(outcomes) == [task.number for task in TASKS]
    assert facts == [GuestBoot(1.0, {"kernel": "6.1"})]


def test_guests_are_processes_and_each_task_is_done_once():
    both_have_one = multiprocessing.get_context("fork").Barrier(2)

    def one_each_then_the_rest(guest, take, tell, say):
        """No guest takes a second task before the other has one."""
        tell(first := take(), outcome(first, f"{guest} {os.getpid()}"))
        both_have_one.wait(60)
        return serve_all(guest, take, tell, say)

    outcomes, said, facts = run(one_each_then_the_rest)
    assert sorted(outcomes) == [task.number for task in TASKS]
    assert {found.case for found in outcomes.values()} == {task.case.id for task in TASKS}
    where = {found.detail for found in outcomes.values()}
    assert {word.split()[0] for word in where} == {"1", "2"}
    assert len(where) == 2
    assert str(os.getpid()) not in {word.split()[1] for word in where}
    assert len(said) == 2
    assert facts == [GuestBoot(1.0, {"kernel": "6.1"}), GuestBoot(2.0, {"kernel": "6.1"})]


@pytest.mark.parametrize("error", [InternalError("the guest ended"), HostCapabilityError("QEMU", "install it")])
def test_what_a_guest_raises_is_raised_here_and_ends_the_others_in_order(tmp_path, error):
    def serve(guest, take, tell, say):
        if guest == 2:
            while not (tmp_path / "begun").exists():
                time.sleep(0.01)
            raise error
        try:
            (tmp_path / "begun").touch()
            time.sleep(60)
        finally:
            (tmp_path / "in order").write_text(str(os.getpid()))
        return GuestBoot(1.0, {})

    with pytest.raises(type(error)) as caught:
        run(serve)
    assert str(caught.value) == str(error)
    assert (tmp_path / "in order").exists()


def test_a_guest_that_vanishes_is_told():
    def serve(guest, take, tell, say):
        if guest == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        return serve_all(guest, take, tell, say)

    with pytest.raises(InternalError, match=r"guest 1 ended with -9 and without a word"):
        run(serve)


def test_a_guest_that_is_told_to_end_before_it_hears_ends_as_one_that_hears(tmp_path, monkeypatch):
    """What it inherits would raise in the middle of its birth, and run what its parent does then."""

    def serve(guest, take, tell, say):
        if guest == 1:
            raise InternalError("the guest ended")
        time.sleep(60)
        return GuestBoot(1.0, {})

    dies = guest_pool.die_with_parent

    def slow_birth(number):
        dies(number)
        if (tmp_path / "first").exists():
            time.sleep(0.5)
        (tmp_path / "first").touch()

    def inherited(number, frame):
        (tmp_path / "inherited").write_text(str(os.getpid()))
        raise KeyboardInterrupt

    monkeypatch.setattr(guest_pool, "die_with_parent", slow_birth)
    before = signal.signal(signal.SIGTERM, inherited)
    try:
        with pytest.raises(InternalError, match="the guest ended"):
            run(serve)
    finally:
        signal.signal(signal.SIGTERM, before)
    assert not (tmp_path / "inherited").exists()


def test_a_guest_that_does_not_end_is_killed(monkeypatch, tmp_path):
    monkeypatch.setattr(guest_pool, "_END_S", 0.2)

    def serve(guest, take, tell, say):
        if guest == 2:
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
