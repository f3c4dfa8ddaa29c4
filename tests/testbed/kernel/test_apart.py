"""Code in a process of its own: whatever it does, there is an answer, and no process is left."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from typing import Any

import pytest

from testbed.kernel.apart import Ended, run_apart
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
