"""Frames arrive with their last bit."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from switch_nodes.dataplane import EmulatedClock, ModelledWire
from tests.support.machines import Forwarder
from tests.support.planes import FakeIo, plane_of

RATE_BPS, US = 100_000_000, 1_000
SIZE = 1_250
"""bytes that take 100 us"""


def test_a_frame_takes_its_time() -> None:
    assert ModelledWire([(0, RATE_BPS)], paced=False).carry(SIZE, 7 * US) == 107 * US


def test_what_came_together_arrives_one_after_the_other() -> None:
    wire = ModelledWire([(0, RATE_BPS)], paced=False)
    assert [wire.carry(SIZE, 0) for _ in range(3)] == [100 * US, 175 * US, 250 * US]


def test_who_was_late_once_is_not_late_for_ever() -> None:
    wire = ModelledWire([(0, RATE_BPS)], paced=False)
    late = [wire.carry(SIZE, at * US) - (at + 100) * US for at in (0, 180, 200, 300, 400, 500)]
    assert late == [0, 0, 55 * US, 30 * US, 5 * US, 0]


def test_a_sender_that_keeps_to_the_rate_was_late_with_what_comes_together() -> None:
    wire = ModelledWire([(0, RATE_BPS)], paced=True)
    assert [wire.carry(SIZE, 150 * US) for _ in range(2)] == [250 * US, 250 * US]
    assert wire.carry(SIZE // 2, 160 * US) == 250 * US


def test_a_rate_that_changes() -> None:
    wire = ModelledWire([(0, RATE_BPS), (1_000 * US, RATE_BPS // 10)], paced=False)
    assert wire.carry(SIZE, 900 * US) == 1_000 * US
    assert wire.carry(SIZE, 1_000 * US) == 2_000 * US


@given(st.lists(st.tuples(st.integers(0, 500 * US), st.integers(60, 9_000)), max_size=30), st.booleans())
def test_frames_keep_their_order_and_none_is_faster_than_its_link(sent: list[tuple[int, int]], paced: bool) -> None:
    wire, now, before, carried = ModelledWire([(0, RATE_BPS)], paced=paced), 0, 0, 0
    for gap, size in sent:
        now += gap
        at = wire.carry(size, now)
        assert at >= max(before, now + size * 8 * 10**9 // RATE_BPS)
        before, carried = at, carried + size
    if not paced:
        assert not sent or before + 30 >= 3 * carried * 8 * 10**9 // RATE_BPS // 4


def test_the_machine_gets_a_frame_when_it_has_arrived() -> None:
    frame = bytes(SIZE)
    io = FakeIo([(0, 0, frame), (0, 0, frame), (10 * US, 1, frame)])
    plane = plane_of(
        Forwarder({0: (2,), 1: (3,)}), [], backpressure=False, on_event=lambda *_: None, on_control=lambda: False,
        io=io,
        clock=EmulatedClock(read=io.clock), wires={0: ModelledWire([(0, RATE_BPS)], paced=False)},
    )  # fmt: skip
    plane.run(0)
    assert [(at, port) for at, port, _ in io.sent] == [(10 * US, 3), (100 * US, 2), (175 * US, 2)]
