"""GRID's window control: RATE halves, sums open it, up to a threshold by one packet each."""

from __future__ import annotations

from workloads.grid.config import NodeShare
from workloads.grid.node_shares import ShareTable
from workloads.grid.window import GridWindow


def started(first: int | None = 2, size: int = 16) -> GridWindow:
    window = GridWindow(size, 1_000, first=first)
    window.start(1_000)
    return window


def take_all(window: GridWindow, now: int = 0) -> list[tuple[int, str]]:
    taken = []
    while (found := window.take(lambda packet: True)) is not None:
        window.left(found[0], now)
        taken.append(found)
    return taken


def settle(window: GridWindow, count: int) -> None:
    for _ in range(count):
        window.settle(window.base, 10)
        take_all(window, 10)


def test_each_sum_opens_it_by_one_packet_up_to_the_largest() -> None:
    window = started()
    take_all(window)
    settle(window, 5)
    assert (window.size, window.threshold) == (7, 16)
    settle(window, 50)
    assert window.size == 16


def test_rate_halves_it_and_makes_that_the_threshold() -> None:
    window = started()
    take_all(window)
    settle(window, 10)
    assert window.size == 12
    window.refuse(window.next - 1)
    assert (window.size, window.threshold) == (6, 6)


def test_above_the_threshold_it_grows_by_one_packet_per_window() -> None:
    window = started()
    take_all(window)
    settle(window, 10)
    window.refuse(window.next - 1)
    settle(window, 5)
    assert window.size == 6
    settle(window, 1)
    assert window.size == 7
    settle(window, 7)
    assert window.size == 8


def test_one_round_of_rate_packets_halves_once() -> None:
    window = started(16)
    take_all(window)
    for packet in (3, 5, 9):
        window.refuse(packet)
    assert window.size == 8
    settle(window, 16)
    window.refuse(window.next - 1)
    assert window.size == 4


def test_a_timeout_halves_it_too() -> None:
    window = started(16)
    take_all(window)
    assert window.expire(1_000) == 16
    assert (window.size, window.threshold) == (8, 8)


def test_a_round_in_vain_after_that_halves_it_again() -> None:
    """What waits has left when the window was larger: without this it would never shrink further."""
    window, now, sizes = started(16), 0, []
    take_all(window)
    for _ in range(5):
        now = window.get_timer() or now
        window.expire(now)
        sizes.append(window.size)
        take_all(window, now)
    assert sizes == [8, 4, 2, 1, 1]


def test_what_timed_out_leaves_again_as_far_as_the_window_goes() -> None:
    window = started(16)
    take_all(window)
    window.expire(1_000)
    assert take_all(window, 1_000) == [(packet, "timeout") for packet in range(8)]
    window.settle(0, 1_010)
    assert take_all(window, 1_010) == [(8, "timeout")]
    assert not window.has_more(is_ready=True)


def test_what_a_node_asks_for_leaves_from_outside_the_window() -> None:
    window = started(16)
    take_all(window)
    window.refuse(15)
    window.ask_again(14, "nack")
    window.ask_again(13, "gap")
    assert take_all(window) == [(15, "rate"), (14, "nack")]
    assert window.has_more(is_ready=False) is False


def test_what_was_turned_away_goes_the_same_way_again_but_not_for_ever() -> None:
    window = started()
    take_all(window)
    causes = []
    for _ in range(5):
        window.refuse(0)
        ((packet, cause),) = take_all(window)
        causes.append((packet, cause))
    assert causes == [(0, "rate")] * 3 + [(0, "timeout")] * 2
    settle(window, 3)
    assert not window._refusals, "it is forgotten with its result"


def test_a_paced_sender_has_it_open() -> None:
    window = started(None)
    assert len(take_all(window)) == 16
    window.refuse(3)
    window.expire(10_000)
    assert window.size == 16


def two_ways() -> tuple[GridWindow, list[int], list[int]]:
    """A window whose 16 packets left, and those of each way."""
    window, shares = started(None), ShareTable([[NodeShare(1, 1), NodeShare(2, 1)]])
    window.follow(shares)
    take_all(window)
    ways: tuple[list[int], list[int]] = ([], [])
    for packet in range(16):
        ways[shares.node_of(0, packet) - 1].append(packet)
    assert min(map(len, ways)) > 4
    return window, *ways


def test_results_of_one_switch_say_nothing_about_the_packets_of_another() -> None:
    window, one, other = two_ways()
    for packet in other:
        window.settle(packet, 10)
    assert window.base == one[0]
    assert not [packet for packet, cause in take_all(window) if cause]


def test_a_result_shows_the_loss_of_earlier_packets_of_its_way_once() -> None:
    window, one, _ = two_ways()
    window.settle(one[2], 10)
    assert [packet for packet, cause in take_all(window) if cause == "gap"] == one[:2]
    window.settle(one[3], 20)
    assert not [packet for packet, cause in take_all(window) if cause == "gap"]


def test_a_new_plan_begins_all_ways_again() -> None:
    window, one, _ = two_ways()
    window.settle(one[2], 10)
    take_all(window)
    window.follow(ShareTable([[NodeShare(3, 1)]]))
    window.settle(one[3], 20)
    missing = [packet for packet in range(one[3]) if packet != one[2]]
    assert [packet for packet, cause in take_all(window) if cause == "gap"] == missing
