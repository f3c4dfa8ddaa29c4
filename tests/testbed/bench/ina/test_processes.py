from __future__ import annotations

import os
import signal
import time

import pytest

from testbed.bench.ina.processes import in_processes
from workloads.errors import InternalError, ScenarioError


def measure(task: str) -> str:
    """In a process of its own."""
    if task == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    if task == "wrong":
        raise ScenarioError("a wrong word", file="here")
    if task == "crash":
        raise KeyError("gone")
    if task == "slow":
        time.sleep(600)
    return task * 2


def test_each_task_has_its_result() -> None:
    assert sorted(in_processes(measure, ["a", "b", "c"], 2)) == [("a", "aa"), ("b", "bb"), ("c", "cc")]


@pytest.mark.parametrize(
    ("task", "text"),
    [("killed", "ended with -9: killed"), ("wrong", "here: a wrong word"), ("crash", "KeyError: 'gone'")],
)
def test_a_process_that_fails_ends_the_others(task: str, text: str) -> None:
    began = time.monotonic()
    with pytest.raises(InternalError, match=text):
        list(in_processes(measure, ["slow", task], 2))
    assert time.monotonic() - began < 300, "waited for the slow one"
