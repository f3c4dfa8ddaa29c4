"""Signals become a flag."""

import os
import select
import signal
import threading

import pytest

from testbed.kernel.interruption import Interruption


@pytest.fixture(autouse=True)
def heeded():
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_a_signal_is_raised_only_where_it_is_looked_for():
    with Interruption() as interruption:
        interruption.check()
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGINT)
        assert select.select([interruption], [], [], 5)[0]
        with pytest.raises(KeyboardInterrupt):
            interruption.check()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_signal_that_another_thread_takes_wakes_a_poll():
    def take() -> None:
        signal.pthread_kill(threading.get_ident(), signal.SIGINT)

    other = threading.Timer(0.3, take)
    other.start()
    with Interruption() as interruption:
        assert select.select([interruption], [], [], 5)[0]
        with pytest.raises(KeyboardInterrupt):
            interruption.check()
    other.join()


def test_whoever_was_woken_before_is_woken_again():
    with Interruption() as outer:
        with Interruption():
            pass
        os.kill(os.getpid(), signal.SIGINT)
        assert select.select([outer], [], [], 5)[0]
    assert signal.set_wakeup_fd(-1) == -1


def test_an_ignored_signal_stays_ignored():
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with Interruption() as interruption:
        os.kill(os.getpid(), signal.SIGINT)
        interruption.check()


def test_many_requests_do_not_block():
    with Interruption() as interruption:
        for _ in range(100_000):
            interruption.request()
        assert interruption.requested
