"""What a worker keeps for a server that starts anew: the results of two windows."""

from __future__ import annotations

from workloads.atp.results import KeptResults


def frame(packet: int) -> bytes:
    return bytes((packet,))


def test_results_of_two_windows_and_no_more_are_kept() -> None:
    kept = KeptResults(3)
    assert kept.find(0) is None
    for packet in range(10):
        kept.keep(packet, frame(packet))
    assert [kept.find(packet) for packet in range(10)] == [*[None] * 4, *map(frame, range(4, 10))]


def test_what_never_came_is_not_there() -> None:
    kept = KeptResults(2)
    kept.keep(7, frame(7))
    assert [packet for packet in range(16) if kept.find(packet) is not None] == [7]
