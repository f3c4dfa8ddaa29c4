"""A run in which all went well, and its capture."""

from __future__ import annotations

import pytest

from testbed.checkers.context import CheckContext
from testbed.checkers.transparency import transparency
from tests.support.judged import Frames, good_capture, good_context, good_history, small_plan, write_capture


@pytest.fixture
def good() -> CheckContext:
    return good_context()


@pytest.fixture
def plan():
    return small_plan()


@pytest.fixture
def frames(plan):
    return Frames(plan)


@pytest.fixture
def steps(plan):
    return good_capture(plan)


@pytest.fixture
def judge(tmp_path, plan):
    def judge(steps, plan=plan, history=None):
        path = write_capture(plan, steps, tmp_path)
        return transparency(CheckContext(plan, good_history(plan) if history is None else history, (path,)))

    return judge
