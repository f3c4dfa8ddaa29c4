"""The scheduler's account of our waits."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

from switch_nodes.dataplane.waits import read_waits


def test_it_reads_the_second_and_third_number(tmp_path: Path) -> None:
    account = tmp_path / "schedstat"
    account.write_text("9000 1234 56\n")
    assert read_waits(account) == (1234, 56)


@pytest.mark.parametrize("text", ["", "1 2\n", "a b c\n"])
def test_a_kernel_without_an_account(tmp_path: Path, text: str) -> None:
    account = tmp_path / "schedstat"
    account.write_text(text)
    assert read_waits(account) == read_waits(tmp_path / "none") == (0, 0)


@pytest.mark.skipif(read_waits() == (0, 0), reason="this kernel keeps no account")
def test_two_that_share_a_cpu_wait_for_each_other() -> None:
    cpus = os.sched_getaffinity(0)
    pid = os.fork()
    os.sched_setaffinity(0, {min(cpus)})
    (before, _), end = read_waits(), time.monotonic() + (0.1 if pid else 0.5)
    while time.monotonic() < end:
        pass
    if not pid:
        os._exit(0)
    after, _ = read_waits()
    os.sched_setaffinity(0, cpus)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    assert after > before
