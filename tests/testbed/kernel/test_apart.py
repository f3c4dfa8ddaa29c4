"""Code in a process of its own: whatever it does, there is an answer, and no process is left."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from testbed.kernel import overdue
from testbed.kernel.apart import Ended, PassedOn, run_apart
from workloads.errors import HostCapabilityError, InternalError, ScenarioError


def test_what_it_tells_and_returns_comes_here_in_order() -> None:
    heard: list[Any] = []

    def work(tell: Callable[[Any], None]) -> tuple[int, int]:
        for number in range(10_000):
            tell({"t": number, "fields": (1, 2)})
        return os.getpid(), os.getppid()

    child, parent = run_apart(work, heard.append)
    assert parent == os.getpid() != child
    assert heard == [{"t": number, "fields": (1, 2)} for number in range(10_000)]


@pytest.mark.parametrize(
    ("end", "status"),
    [
        (lambda: os._exit(0), 0),
        (lambda: os._exit(5), 5),
        (lambda: os.kill(os.getpid(), signal.SIGKILL), -signal.SIGKILL),
        (lambda: os.kill(os.getpid(), signal.SIGTERM), -signal.SIGTERM),
    ],
)
def test_one_that_ends_without_an_answer_is_told_with_its_status(end: Callable[[], None], status: int) -> None:
    heard: list[Any] = []

    def work(tell: Callable[[Any], None]) -> None:
        tell(1)
        end()

    with pytest.raises(Ended) as caught:
        run_apart(work, heard.append)
    assert caught.value.status == status


def test_one_that_takes_too_long_is_ended() -> None:
    """As a whole, or in one call; a call that moves on may take longer."""
    with pytest.raises(Ended) as caught:
        run_apart(lambda tell: time.sleep(60), limit_s=0.2)
    assert caught.value.overdue
    with pytest.raises(Ended) as caught:
        run_apart(lambda tell: _call(lambda: time.sleep(60)))
    assert caught.value.overdue
    ticks = [0]
    assert run_apart(lambda tell: _call(lambda: _count(ticks), lambda: ticks[0])) == 30
    assert run_apart(lambda tell: 7, limit_s=60) == 7


def _call(work: Callable[[], Any], progress: Callable[[], object] = lambda: 0) -> Any:
    overdue.LIMIT_S = 2
    with overdue.must_answer(), overdue.moving(progress):
        return work()


def _count(ticks: list[int]) -> int:
    while ticks[0] < 30:
        time.sleep(0.1)
        ticks[0] += 1
    return ticks[0]


def test_a_copy_that_it_makes_answers_nothing() -> None:
    heard: list[Any] = []

    def work(tell: Callable[[Any], None]) -> int:
        os.fork()
        tell(1)
        return 2

    assert run_apart(work, heard.append) == 2
    assert heard == [1]


def test_code_that_replaces_the_way_out_ends_all_the_same() -> None:
    def work(tell: Callable[[Any], None]) -> int:
        os._exit = lambda status: None  # type: ignore[assignment]
        return os.getpid()

    assert run_apart(work) != os.getpid()


def _raise(error: BaseException) -> None:
    raise error


def test_our_errors_come_through_whole() -> None:
    with pytest.raises(ScenarioError) as caught:
        run_apart(lambda tell: _raise(ScenarioError("bad", file="f", key="k", line=3, found="x", allowed="y")))
    assert str(caught.value) == "f:3: k: bad; found x; allowed: y"
    with pytest.raises(HostCapabilityError, match="this machine lacks room; make some"):
        run_apart(lambda tell: _raise(HostCapabilityError("room", "make some")))
    with pytest.raises(MemoryError, match="so much"):
        run_apart(lambda tell: _raise(MemoryError("so much")))
    with pytest.raises(InternalError, match=r"(?s)Traceback.*ZeroDivisionError"):
        run_apart(lambda tell: _raise(ZeroDivisionError()))


def test_an_interruption_here_ends_the_child() -> None:
    def interrupt(told: int) -> None:
        raise KeyboardInterrupt

    children: list[int] = []

    def work(tell: Callable[[Any], None]) -> None:
        tell(os.getpid())
        for _ in range(1_000_000):
            tell("x" * 1000)

    with pytest.raises(KeyboardInterrupt):
        run_apart(work, lambda told: (children.append(told), interrupt(told)))
    with pytest.raises(ProcessLookupError):
        os.kill(children[0], 0)


def test_ctrl_c_is_not_for_it() -> None:
    assert run_apart(lambda tell: signal.getsignal(signal.SIGINT)) is signal.SIG_IGN


def _interrupt_the_parent() -> None:
    os.kill(os.getppid(), signal.SIGINT)
    time.sleep(60)


def _take(signals: PassedOn) -> list[int]:
    """Be ready for signals, send each to the parent, and wait for what comes back."""
    came: list[int] = []
    for number in signals.numbers:
        signal.signal(number, lambda number, _: came.append(number))
    signals.ready()
    for number in signals.numbers:
        os.kill(os.getppid(), number)
        deadline = time.monotonic() + 30
        while number not in came and time.monotonic() < deadline:
            time.sleep(0.001)
    return came


def test_signals_are_passed_on_once_it_is_ready_for_them() -> None:
    signals = PassedOn((signal.SIGINT, signal.SIGUSR1))
    before = signal.getsignal(signal.SIGUSR1)
    assert run_apart(lambda tell: _take(signals), signals=signals) == [signal.SIGINT, signal.SIGUSR1]
    assert signal.getsignal(signal.SIGUSR1) == before


def test_a_signal_waits_until_the_number_of_the_child_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """It comes right after the fork, and to another thread, which no mask of ours keeps it from."""
    fork, over = os.fork, threading.Event()

    def slow_fork() -> int:
        child = fork()
        if child:
            time.sleep(0.2)
        return child

    monkeypatch.setattr(os, "fork", slow_fork)
    other = threading.Thread(target=over.wait)
    other.start()
    signals = PassedOn((signal.SIGINT, signal.SIGUSR1))
    try:
        assert run_apart(lambda tell: _take(signals), signals=signals) == [signal.SIGINT, signal.SIGUSR1]
    finally:
        over.set()
        other.join()


def test_before_that_ctrl_c_ends_both() -> None:
    with pytest.raises(KeyboardInterrupt):
        run_apart(lambda tell: _interrupt_the_parent(), signals=PassedOn((signal.SIGINT,)))


def test_ctrl_c_that_another_thread_takes_amid_the_fork_leaves_nothing_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    """Our mask keeps no other thread from it, and its handler runs here."""
    fork, forks, taken = os.fork, threading.Event(), threading.Event()
    children: list[int] = []

    def take() -> None:
        forks.wait()
        signal.pthread_kill(threading.get_ident(), signal.SIGINT)
        taken.set()

    def fork_when_it_came() -> int:
        forks.set()
        taken.wait()
        children.append(fork())
        return children[-1]

    monkeypatch.setattr(os, "fork", fork_when_it_came)
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    other = threading.Thread(target=take)
    other.start()
    with pytest.raises(KeyboardInterrupt):
        run_apart(lambda tell: time.sleep(60), signals=PassedOn((signal.SIGINT,)))
    other.join()
    assert signal.pthread_sigmask(signal.SIG_BLOCK, ()) == before
    for child in children:
        with pytest.raises(ChildProcessError):
            os.waitpid(child, os.WNOHANG)


def test_a_reader_that_went_away_is_no_crash() -> None:
    with pytest.raises(BrokenPipeError):
        run_apart(lambda tell: _raise(BrokenPipeError(32, "Broken pipe")))


def test_one_that_dies_of_a_signal_that_was_for_us_takes_us_along() -> None:
    def outer(tell: Callable[[Any], None]) -> None:
        signals = PassedOn((signal.SIGTERM,))

        def inner(tell: Callable[[Any], None]) -> None:
            signals.ready()
            os.kill(os.getppid(), signal.SIGTERM)
            time.sleep(60)

        run_apart(inner, signals=signals)

    with pytest.raises(Ended) as caught:
        run_apart(outer)
    assert caught.value.status == -signal.SIGTERM
