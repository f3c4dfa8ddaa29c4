"""What one switch of a plan does with every packet."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from switch_nodes.aggregators.arrival import AggregatorArrival
from switch_nodes.config import SwitchConfig
from switch_nodes.events import LoadSampled, PlanInstalled, SwitchStatistics
from switch_nodes.grid.program import GridProgram
from switch_nodes.grid.tables import GridSlotEvent
from switch_nodes.routes.layout import RouteOrders
from tests.support.atp_star import SERVER_IP, SERVER_MAC
from tests.support.grid_star import AGGREGATOR_IP, FOREIGN_IP, NODE, GridBench, ip
from workloads.datagrams.blocks import Collided, ContributionIgnored, MemoryAtEnd, PartialSent, SlotMixed
from workloads.errors import ScenarioError
from workloads.grid import NodeShare
from workloads.wire.aggregation import Datagram, DatagramFlag, DatagramKind, payload_sum

RESEND = int(DatagramFlag.RESEND)
FRAME_BYTES = 82 + 32


def elements(found: Datagram) -> list[int]:
    values: list[int] = np.frombuffer(found.payload, ">i4").tolist()
    return values


def test_the_last_part_sends_the_sum_to_the_server_and_frees_the_slot() -> None:
    bench = GridBench()
    assert bench.send(0, 5) == bench.send(2, 5) == []
    ((port, found),) = bench.send(1, 5)
    assert (port, found.src_ip, found.dst_ip) == (3, AGGREGATOR_IP, SERVER_IP)
    assert (found.header.kind, found.header.bitmap0, found.header.sequence) == (DatagramKind.DATA, 7, 6)
    assert elements(found) == bench.values((0, 1, 2), 5)
    assert bench.told(PartialSent) == [PartialSent(7, 5, bench.told(PartialSent)[0].slot, (1, 1, 1), 7, "complete")]
    assert not any(bench.program.memory.slots)


def test_a_duplicate_is_added_once() -> None:
    bench = GridBench()
    bench.send(0, 5)
    assert bench.send(0, 5) == []
    bench.send(1, 5)
    ((_, found),) = bench.send(2, 5)
    assert elements(found) == bench.values((0, 1, 2), 5)
    assert [(event.rank, event.reason) for event in bench.told(ContributionIgnored)] == [(0, "duplicate")]


def test_only_what_is_addressed_to_it_is_aggregated() -> None:
    bench = GridBench()
    ((port, found),) = bench.send(0, 5, to=FOREIGN_IP)
    assert (port, found.dst_ip, found.header.bitmap0) == (4, FOREIGN_IP, 1)
    ((port, found),) = bench.send(0, 5, to=SERVER_IP)
    assert (port, found.dst_ip) == (3, SERVER_IP)
    assert bench.program.counters["data_in"] == 0
    assert bench.send(1, 5, to=FOREIGN_IP) == [], "the route is for worker 0 alone"
    assert bench.program.counters["unrouted"] == 1


def test_a_taken_slot_drops_the_packet_and_tells_its_worker() -> None:
    bench = GridBench(slots=1)
    bench.send(0, 5)
    ((port, found),) = bench.send(1, 6)
    assert (port, found.dst_ip, found.header.kind, found.header.sequence) == (1, ip(1), DatagramKind.RATE, 7)
    assert found.header.flags & DatagramFlag.ECN
    assert [(event.rank, event.block, event.reason) for event in bench.told(ContributionIgnored)] == [
        (1, 6, "collided")
    ]


def test_or_the_packet_and_the_rest_of_its_block_go_to_the_server() -> None:
    bench = GridBench(slots=1, on_collision="to_ps")
    bench.send(0, 5)
    ((port, found),) = bench.send(1, 6)
    assert (port, found.dst_ip, found.src_ip, found.header.bitmap0) == (3, SERVER_IP, ip(1), 2)
    assert [(event.block, event.owner_block) for event in bench.told(Collided)] == [(6, 5)]
    bench.send(1, 5)
    bench.send(2, 5)  # now the slot is empty
    assert [found.header.bitmap0 for _, found in bench.send(0, 6)] == [1], "it must not wait for worker 1"


def test_without_tokens_the_whole_block_goes_around() -> None:
    """The bucket is asked once, for all of the block."""
    bench = GridBench(capacity_bps=8e9, depth_ns=3 * FRAME_BYTES)
    bench.send(0, 5)
    ((port, found),) = bench.send(0, 6)
    assert (port, found.dst_ip, found.src_ip, elements(found)) == (3, SERVER_IP, ip(0), bench.values((0,), 6))
    bench.now = 10_000
    assert [found.header.bitmap0 for _, found in bench.send(1, 6)] == [2], "tokens that come later do not help"
    assert bench.send(1, 5) == []
    assert [found.header.bitmap0 for _, found in bench.send(2, 6)] == [4]
    assert bench.send(0, 7) == []
    counters = bench.program.counters
    assert (counters["refused"], counters["bypassed"], counters["added_0"]) == (1, 3, 2)


def test_capacity_counts_the_bytes_that_are_added_and_no_others() -> None:
    bench = GridBench(capacity_bps=8e9, depth_ns=3 * FRAME_BYTES, sample_ns=1_000)
    for rank in range(3):
        bench.send(rank, 5)
    bench.send(0, 6)
    bench.now = 1_000
    bench.program.handle_timer(1_000)
    bench.hear()
    (sample,) = bench.told(LoadSampled)
    assert (sample.at_ns, sample.added_bytes, sample.data_in, sample.bypassed) == (1_000, 3 * FRAME_BYTES, 4, 1)
    assert sample.bytes_in == (2 * FRAME_BYTES, FRAME_BYTES, FRAME_BYTES, 0, 0)
    assert sample.bytes_out == (0, 0, 0, 2 * FRAME_BYTES, 0)
    assert bench.program.get_timer() == 2_000


def test_a_packet_sent_again_takes_along_what_is_there_and_opens_no_slot() -> None:
    bench = GridBench()
    ((_, found),) = bench.send(0, 5, flags=RESEND)
    assert (found.header.bitmap0, found.src_ip, found.dst_ip, found.header.flags) == (1, ip(0), SERVER_IP, RESEND)
    bench.send(0, 6)
    ((_, found),) = bench.send(1, 6, flags=RESEND)
    assert (found.header.bitmap0, elements(found)) == (3, bench.values((0, 1), 6))
    assert found.header.flags & RESEND
    ((_, found),) = bench.send(2, 6)
    assert (found.header.bitmap0, found.src_ip) == (4, ip(2)), "the rest does not wait for those that are gone"
    assert [event.reason for event in bench.told(PartialSent)] == ["flushed"]


def test_a_result_frees_what_a_late_copy_opened_and_goes_to_all() -> None:
    bench = GridBench()
    bench.send(0, 5)
    assert sorted(port for port, _ in bench.result(5)) == [0, 1, 2]
    assert not any(bench.program.memory.slots)
    bench.send(0, 6)
    bench.result(7)
    assert sum(slot is not None for slot in bench.program.memory.slots) == 1


def test_a_result_of_another_block_frees_nothing() -> None:
    bench = GridBench(slots=1)
    bench.send(0, 5)
    bench.result(6)
    bench.send(1, 5)
    ((_, found),) = bench.send(2, 5)
    assert elements(found) == bench.values((0, 1, 2), 5)


def test_who_asked_for_a_flush_went_around_with_it() -> None:
    bench = GridBench()
    bench.send(0, 5)
    assert [found.header.bitmap0 for _, found in bench.send(1, 5, flags=RESEND)] == [3]
    assert [found.header.bitmap0 for _, found in bench.send(2, 5)] == [4]
    assert bench.send(0, 5) == [], "all have gone around: a copy opens a slot like any first packet"


def test_a_result_ends_the_detour_of_its_block() -> None:
    bench = GridBench()
    bench.send(0, 5, flags=RESEND)
    assert [found.header.bitmap0 for _, found in bench.send(1, 5)] == [2]
    bench.result(5)
    assert not bench.program.refused.has(5)


def test_a_block_a_window_later_takes_the_slot() -> None:
    bench = GridBench(slots=1, window=4)
    bench.send(0, 5)
    assert [found.header.kind for _, found in bench.send(0, 8)] == [DatagramKind.RATE]
    assert bench.send(0, 9) == []
    bench.send(1, 9)
    ((_, found),) = bench.send(2, 9)
    assert elements(found) == bench.values((0, 1, 2), 9)


def test_a_packet_of_another_size_is_dropped() -> None:
    bench = GridBench()
    bench.send(0, 5)
    assert bench.send(1, 5, elements=6) == []
    assert [event.reason for event in bench.told(ContributionIgnored)] == ["mismatch"]


@pytest.mark.parametrize("header", [{"bitmap0": 2}, {"bitmap0": 3}, {"op": 1}, {"job": 8}, {"kind": 4}, {"policy": 2}])
def test_nonsense_is_not_added(header: dict[str, int]) -> None:
    bench = GridBench()
    assert bench.send(0, 5, **header) == []
    assert [event.reason for event in bench.told(ContributionIgnored)] == ["malformed"]
    assert not any(bench.program.memory.slots)


def test_a_damaged_packet_is_not_added() -> None:
    bench = GridBench()
    frame = bytearray(bench.frame(0, 5))
    frame[-1] ^= 1
    assert bench.give(0, bytes(frame)) == []
    assert bench.program.counters["checksum"] == 1
    assert payload_sum(b"\0\1") == 1


def test_a_mark_travels_with_the_sum() -> None:
    bench = GridBench()
    bench.send(0, 5, ce=True)
    bench.send(1, 5)
    ((_, found),) = bench.send(2, 5)
    assert found.header.flags == DatagramFlag.ECN


def test_exponents_are_the_largest_and_what_was_too_much_or_congested_stays_so() -> None:
    bench, most = GridBench(dtype="int32sat"), (1 << 31) - 1
    bench.send(0, 5, op=1, value=most, exponent0=5, exponent1=-3, ce=True)
    bench.send(1, 5, op=1, value=1, exponent0=-7, exponent1=9)
    ((_, found),) = bench.send(2, 5, op=1, value=-1, exponent0=4, exponent1=8)
    assert elements(found) == [most - 1] * 8
    assert (found.header.exponent0, found.header.exponent1) == (5, 9)
    assert found.header.flags == DatagramFlag.ECN | DatagramFlag.OVERFLOW


def test_of_split_workers_each_block_waits_for_those_that_send_it_here() -> None:
    """Worker 2 sends half of its blocks to the server."""
    half = (NodeShare(NODE, 0.5), NodeShare(0, 0.5))
    bench = GridBench(shares=((NodeShare(NODE, 1.0),),) * 2 + (half,))
    sizes = set()
    for block in range(20):
        left = [found for rank in range(2) for _, found in bench.send(rank, block)]
        if not left:
            left = [found for _, found in bench.send(2, block)]
        sizes.add(left[0].header.bitmap0)
    assert sizes == {3, 7}


def test_a_packet_that_the_plan_does_not_send_here_goes_on() -> None:
    bench = GridBench(shares=((NodeShare(NODE, 1.0),), (NodeShare(NODE, 1.0),), (NodeShare(0, 1.0),)))
    assert [found.header.bitmap0 for _, found in bench.send(2, 5)] == [4]
    bench.send(0, 5)
    assert [found.header.bitmap0 for _, found in bench.send(1, 5)] == [3]


def test_under_a_new_plan_what_is_not_complete_is_forgotten() -> None:
    bench = GridBench()
    (first,) = bench.program.grid.orders
    later = RouteOrders(first.routes[:2], first.shares, 5_000, "later", 1e6)
    bench = GridBench(orders=(first, later))
    bench.send(0, 5)
    assert bench.program.get_timer() == 5_000
    bench.program.handle_timer(4_999)
    assert any(bench.program.memory.slots)
    bench.program.handle_timer(5_000)
    bench.hear()
    assert not any(bench.program.memory.slots)
    assert [(event.planner, event.rate_bps) for event in bench.told(PlanInstalled)] == [("test", 0.0), ("later", 1e6)]
    assert bench.program.get_timer() is None
    assert bench.send(0, 5, to=FOREIGN_IP) == [], "that route is gone"


def test_under_a_new_plan_blocks_wait_for_those_that_the_new_plan_sends_here() -> None:
    here, away = (NodeShare(NODE, 1.0),), (NodeShare(0, 1.0),)
    (first,) = GridBench().program.grid.orders
    later = RouteOrders(first.routes, (here, here, away), 5_000, "later", 1e6)
    bench = GridBench(orders=(first, later))
    assert [found.header.bitmap0 for rank in (0, 1, 2) for _, found in bench.send(rank, 5)] == [7]
    bench.program.handle_timer(5_000)
    assert [found.header.bitmap0 for _, found in bench.send(2, 6)] == [4], "the new plan sends it past here"
    assert [found.header.bitmap0 for rank in (0, 1) for _, found in bench.send(rank, 6)] == [3]


def test_the_end_tells_what_is_left() -> None:
    bench = GridBench()
    bench.send(0, 5)
    bench.program.finish(100)
    bench.hear()
    (memory,), (statistics,) = bench.told(MemoryAtEnd), bench.told(SwitchStatistics)
    assert (memory.open, memory.slots, memory.peak_occupied) == (1, 64, 1)
    assert statistics.counters["added_0"] == 1


def test_a_late_copy_is_no_leftover_and_keeps_nothing_busy() -> None:
    bench = GridBench()
    for rank in range(3):
        bench.now = 10 * (1 + rank)
        bench.send(rank, 5)
    for late in (5000, 7000):
        bench.now = late
        bench.send(0, 5)
    bench.result(9)
    bench.send(0, 9)
    bench.program.finish(10_000)
    bench.hear()
    (memory,), (statistics,) = bench.told(MemoryAtEnd), bench.told(SwitchStatistics)
    assert (memory.open, memory.busy_ns, memory.useful_ns) == (0, 20, 20)
    assert statistics.counters["ghosts_at_end"] == 2


def test_a_contribution_that_never_left_is_a_leftover_beside_a_copy() -> None:
    bench = GridBench()
    for rank in range(3):
        bench.send(rank, 5)
    bench.send(0, 5)
    bench.send(0, 6)
    bench.program.finish(100)
    bench.hear()
    assert [memory.open for memory in bench.told(MemoryAtEnd)] == [1]


def test_a_copy_from_before_a_new_plan_is_no_leftover_where_no_result_passes() -> None:
    (first,) = GridBench().program.grid.orders
    bench = GridBench(orders=(first, RouteOrders(first.routes, first.shares, 5_000, "later", 1e6)))
    for rank in range(3):
        bench.send(rank, 5)
    bench.send(0, 6)
    bench.program.handle_timer(5_000)
    bench.send(0, 5)  # its sum left
    bench.send(0, 6)  # was forgotten, and all workers sent it again another way
    bench.send(1, 7)
    bench.program.finish(10_000)
    bench.hear()
    assert [memory.open for memory in bench.told(MemoryAtEnd)] == [1]


def test_everything_else_passes_as_through_a_plain_switch() -> None:
    bench = GridBench()
    frame = SERVER_MAC + bytes(6) + b"\x08\x06" + bytes(46)
    bench.program.receive_frame(0, frame, 0)
    assert list(bench.program.frames_to_send(0)) == [(3, frame)]


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"grid": None}, "no plan to follow"),
        ({"jobs": ()}, "serves one job"),
        ({"memory": 0}, "slots"),
    ],
)
def test_what_cannot_be_served_is_refused(change: dict[str, object], problem: str) -> None:
    config = GridBench().program.config
    with pytest.raises(ScenarioError, match=problem):
        GridProgram(replace(config, **change))  # type: ignore[arg-type]


def test_orders_that_do_not_fit_are_refused() -> None:
    config: SwitchConfig = GridBench().program.config
    assert config.grid is not None
    (orders,) = config.grid.orders
    bad_port = replace(orders, routes=(replace(orders.routes[0], ports=(9,)),))
    for changed, problem in ((replace(orders, shares=()), "shares of the plan"), (bad_port, "ports of route results")):
        with pytest.raises(ScenarioError, match=problem):
            GridProgram(replace(config, grid=replace(config.grid, orders=(changed,))))
    with pytest.raises(ScenarioError, match="on_collision"):
        GridProgram(replace(config, grid=replace(config.grid, on_collision="keep")))


def test_what_is_added_to_another_block_is_told_whatever_the_judge_says(monkeypatch: pytest.MonkeyPatch) -> None:
    judge = GridProgram.judge

    def blind(self: GridProgram, a: AggregatorArrival) -> GridSlotEvent:
        event = judge(self, a)
        return GridSlotEvent.NEW if event is GridSlotEvent.OTHER else event

    for now, mixed in ((judge, []), (blind, [(1, 1, 0)])):
        monkeypatch.setattr(GridProgram, "judge", now)
        bench = GridBench(slots=1)
        bench.send(0, 0)
        bench.send(1, 1)
        assert [(event.block, event.rank, event.owner_block) for event in bench.told(SlotMixed)] == mixed
