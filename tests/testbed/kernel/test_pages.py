"""Copies of what a child shares with its parent."""

from __future__ import annotations

import os
import resource
from collections.abc import Callable
from pathlib import Path

import pytest

from testbed.kernel import pages
from testbed.kernel.pages import does_matter, own_pages

_SIZE = 8 << 20
_PAGE = os.sysconf("SC_PAGESIZE")


def in_child(work: Callable[[], bool]) -> bool:
    """What `work` says in a fork of this process."""
    pid = os.fork()
    if pid == 0:
        try:
            os._exit(0 if work() else 1)
        except BaseException:
            os._exit(2)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


def faults_of_writing(room: bytearray) -> int:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for at in range(0, len(room), _PAGE):
        room[at] = 1
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before


@pytest.fixture
def room() -> bytearray:
    filled = bytearray(_SIZE)
    faults_of_writing(filled)
    return filled


def test_what_is_owned_is_written_without_copying(room: bytearray) -> None:
    assert in_child(lambda: own_pages(1 << 40) >= _SIZE and faults_of_writing(room) < 50)


def test_what_is_shared_is_copied_at_the_first_write(room: bytearray) -> None:
    assert in_child(lambda: faults_of_writing(room) > _SIZE // _PAGE // 2), "else the test above says nothing"


def test_more_than_allowed_is_left_shared(room: bytearray) -> None:
    assert in_child(lambda: own_pages(_SIZE // 2) == 0 and faults_of_writing(room) > _SIZE // _PAGE // 2)


def test_a_kernel_that_shows_no_pages_changes_nothing(room: bytearray, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "_PAGEMAP", Path("/proc/self/nothing"))
    assert in_child(lambda: own_pages(1 << 40) == 0 and faults_of_writing(room) > _SIZE // _PAGE // 2)


def test_what_is_there_stays() -> None:
    room = bytearray(range(256)) * 4096
    same = bytes(room)
    assert in_child(lambda: own_pages(1 << 40) > 0 and bytes(room) == same)


def test_only_small_factors_make_a_millisecond_matter() -> None:
    assert [does_matter(factor) for factor in (1, 9, 10, None)] == [True, True, False, False]
