"""What a worker keeps for a server that starts anew: the results of two windows."""

from __future__ import annotations

from workloads.atp.results import KeptResult, KeptResults


def result(packet: int) -> KeptResult:
    return KeptResult(packet, 5, 0, (1, 2), bytes((packet,)))


def test_results_of_two_windows_and_no_more_are_kept() -> None:
    kept = KeptResults(3)
    assert kept.find(0) is None
    for packet in range(10):
        kept.keep(result(packet))
    assert [kept.find(packet) for packet in range(10)] == [*[None] * 4, *map(result, range(4, 10))]


def test_what_never_came_is_not_there() -> None:
    kept = KeptResults(2)
    kept.keep(result(7))
    assert [packet for packet in range(16) if kept.find(packet) is not None] == [7]
