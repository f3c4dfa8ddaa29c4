"""Frames that faults hold back: a copy that never came and an order that never changed are no strikes."""

from __future__ import annotations

import ctypes

import pytest

from testbed.faults.events import FaultMissed
from testbed.faults.link_filter import LinkFilter
from testbed.faults.model import Delay, Duplicate, Fault, Forge, Match, Reorder, Window
from testbed.faults.native import CLink, load_filter
from tests.support.roce_frames import FIRST_PSN, link_filter, request
from workloads.machine import FrameBatch

LINK = ("h1-s1",)
HELD = Reorder("late", LINK, delay_ns=100, window=Window(0, 10))


def missed(filter_: LinkFilter, end: int) -> dict[str, tuple[int, str]]:
    filter_.finish(end)
    found = {}
    while (event := filter_.next_event()) is not None:
        if isinstance(event, FaultMissed):
            found[event.fault] = event.strikes, event.why
    return found


def frame_at(filter_: LinkFilter, psn: int, now: int) -> None:
    filter_.admit(request(psn), now)


NOTHING = "no later packet overtook what it held back"


@pytest.mark.parametrize(
    ("later", "strikes"),
    [([], 1), ([99], 0), ([100], 1), ([101], 1), ([50, 200], 0), ([150, 151], 1)],
)
def test_what_nothing_overtook_kept_its_place(later: list[int], strikes: int) -> None:
    filter_ = link_filter(HELD)
    frame_at(filter_, 1, 0)
    for number, now in enumerate(later):
        frame_at(filter_, 2 + number, now + 0)
    expected = {"late": (strikes, NOTHING)} if strikes else {}
    assert missed(filter_, 1000) == expected


def test_frames_that_are_all_held_back_alike_keep_their_order() -> None:
    filter_ = link_filter(Reorder("late", LINK, delay_ns=100))
    for number in range(5):
        frame_at(filter_, number, number)
    assert missed(filter_, 1000) == {"late": (5, NOTHING)}
    assert missed(filter_, 1000) == {}


def test_a_copy_that_was_due_after_the_end_never_came() -> None:
    filter_ = link_filter(Duplicate("twice", LINK, delay_ns=2_000_000_000))
    for number in range(3):
        frame_at(filter_, number, number * 1_000_000_000)
    why = "what it sent later was due at 3 s, and the run ended at 2.5 s"
    assert missed(filter_, 2_500_000_000) == {"twice": (2, why)}


@pytest.mark.parametrize(
    "fault", [Duplicate("f", LINK), Duplicate("f", LINK, delay_ns=5), Forge("f", LINK, delay_ns=5)]
)
def test_what_came_did_strike(fault: Fault) -> None:
    filter_ = link_filter(fault)
    frame_at(filter_, 1, 0)
    assert missed(filter_, 5) == {}


def test_a_delay_of_nothing_is_no_strike() -> None:
    filter_ = link_filter(Delay("f", LINK, delay_ns=0))
    frame_at(filter_, 1, 0)
    assert filter_.next_event() is None


@pytest.mark.skipif(load_filter() is None, reason="no C core")
@pytest.mark.parametrize(("passing", "strikes"), [([], 1), ([50], 0), ([150], 1), ([50, 150], 0), ([150, 160], 1)])
def test_frames_that_pass_in_c_overtake_too(passing: list[int], strikes: int) -> None:
    one = Reorder("late", LINK, delay_ns=100, match=Match(psn_offset=1))  # a window would end in Python
    filter_, lib = link_filter(one, native=True), load_filter()
    address = filter_.share()
    assert address is not None
    frame_at(filter_, FIRST_PSN + 1, 0)
    at = ctypes.c_int64()
    for number, now in enumerate(passing):
        frame = request(FIRST_PSN + 2 + number)
        entered = lib.ina_link_pass(ctypes.c_void_p(address), frame, len(frame), ctypes.c_int64(now), ctypes.byref(at))
        assert entered == 1
    assert missed(filter_, 1000) == ({"late": (strikes, NOTHING)} if strikes else {})
    assert ctypes.sizeof(CLink) == 7 * 8


@pytest.mark.skipif(load_filter() is None, reason="no C core")
@pytest.mark.parametrize(("now", "strikes"), [(50, 0), (150, 1)])
def test_rows_of_a_batch_that_no_fault_touches_overtake_too(now: int, strikes: int) -> None:
    filter_ = link_filter(HELD, native=True)
    frame_at(filter_, 1, 0)
    batch = FrameBatch.of(4, 2048)
    batch.append(0, request(2))
    assert filter_.screen(batch, 0, now).tolist() == [True]
    assert missed(filter_, 1000) == ({"late": (strikes, NOTHING)} if strikes else {})


def test_one_that_matches_a_first_attempt_is_overtaken_by_the_rest() -> None:
    filter_ = link_filter(Reorder("late", LINK, delay_ns=100, match=Match(attempt=1), rate=1.0, window=Window(0, 5)))
    frame_at(filter_, 1, 0)
    frame_at(filter_, 1, 4)
    assert missed(filter_, 1000) == {}
