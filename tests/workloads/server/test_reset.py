"""What is not complete is forgotten at a reset, sum and bitmap together; the first sum since then is told."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from tests.support.atp_star import SERVER_IP, server_config
from tests.support.grid_star import grid_workers
from workloads.datagrams.blocks import BlockSummed, ContributionIgnored, JobResumed, ServerStatistics
from workloads.server import ParameterServer, Reset
from workloads.wire import Envelope
from workloads.wire.aggregation import (
    AGGREGATION_PORT,
    AggregationHeader,
    DatagramKind,
    Policy,
    decode_datagram,
    encode_datagram,
)


class Bench:
    """Three workers' server, whose workers are told at 1000 ns to send another way, since something broke at 400."""

    def __init__(self) -> None:
        config = server_config(grid_workers(), multicast=True)
        self.server = ParameterServer(replace(config, resets=(Reset(1_000, 400),)), start_ns=50)
        self.events: list[Any] = []

    def send(self, bitmap: int, block: int, value: int, now: int) -> list[int]:
        """The elements of the result that leaves, or nothing."""
        header = AggregationHeader(Policy.GRID, DatagramKind.DATA, 7, block + 1, 0, bitmap, 3, 8)
        payload = np.full(8, value, ">i4").tobytes()
        envelope = Envelope(bytes(6), bytes(6), bytes((10, 0, 0, 1)), SERVER_IP)
        self.server.receive_frame(0, encode_datagram(envelope, AGGREGATION_PORT, header, payload), now)
        while (event := self.server.next_event()) is not None:
            self.events.append(event)
        found = [decode_datagram(bytes(frame)) for _, frame in self.server.frames_to_send(now)]
        return [value for each in found if each for value in np.frombuffer(each.payload, ">i4")[:1].tolist()]

    def told(self, kind: type) -> list[Any]:
        return [event for event in self.events if isinstance(event, kind)]


def test_what_came_before_does_not_count_afterwards() -> None:
    bench = Bench()
    assert bench.send(0b011, 0, 5, 100) == []
    assert bench.server.get_timer() == 1_050
    bench.server.handle_timer(1_049)
    assert bench.send(0b001, 1, 1, 1_049) == []
    bench.server.handle_timer(1_050)
    assert bench.server.get_timer() is None
    assert bench.send(0b100, 0, 7, 1_100) == [], "the others are not inside any more"
    assert bench.send(0b011, 0, 20, 1_200) == [27]
    assert [event.contributions for event in bench.told(BlockSummed)] == [(1, 1, 1)]


def test_the_first_sum_since_then_is_told_once() -> None:
    bench = Bench()
    bench.send(0b111, 0, 5, 100)
    assert bench.told(JobResumed) == []
    bench.server.handle_timer(1_050)
    bench.send(0b111, 1, 5, 1_450)
    bench.send(0b111, 2, 5, 1_500)
    assert bench.told(JobResumed) == [JobResumed(7, 1, 1_000)]


def test_what_is_complete_stays() -> None:
    bench = Bench()
    assert bench.send(0b111, 0, 5, 100) == [5]
    bench.server.handle_timer(1_050)
    assert bench.send(0b111, 0, 5, 1_100) == [5], "asked for once more"
    bench.server.finish(2_000)
    statistics = bench.server.next_event()
    assert isinstance(statistics, ServerStatistics)
    assert (statistics.blocks, statistics.replays, statistics.open) == (1, 1, 0)


def test_every_open_block_is_forgotten() -> None:
    bench = Bench()
    for block in range(3):
        bench.send(0b001, block, 1, 100)
    bench.server.handle_timer(1_050)
    assert [bench.send(0b110, block, 2, 1_100) for block in range(3)] == [[], [], []]
    assert [bench.send(0b001, block, 5, 1_200) for block in range(3)] == [[7], [7], [7]]


def test_nothing_is_open_after_a_reset() -> None:
    bench = Bench()
    bench.send(0b001, 0, 1, 100)
    bench.server.handle_timer(1_050)
    bench.server.finish(2_000)
    statistics = bench.server.next_event()
    assert isinstance(statistics, ServerStatistics)
    assert statistics.open == 0


def test_before_its_time_nothing_is_forgotten() -> None:
    bench = Bench()
    bench.send(0b011, 0, 5, 100)
    bench.server.handle_timer(1_049)
    assert bench.send(0b100, 0, 7, 1_049) == [12]


def test_a_block_that_had_the_place_of_a_forgotten_one_stays_two_windows_old() -> None:
    """Its late copies would be summed again: `tb hunt --protocol grid` found it in schedule 80,710 of seed 1."""
    bench = Bench()
    kept = 2 * server_config(grid_workers(), multicast=True).jobs[0].window
    for block in range(kept):
        bench.send(0b111, block, 5, 100)
    bench.send(0b011, kept, 5, 200)
    bench.server.handle_timer(1_050)
    assert [bench.send(1 << rank, 0, 5, 1_100) for rank in range(3)] == [[], [], []]
    assert [event.reason for event in bench.told(ContributionIgnored)] == ["stale"] * 3
    assert bench.send(0b111, kept, 7, 1_200) == [7]
    assert len(bench.told(BlockSummed)) == kept + 1
