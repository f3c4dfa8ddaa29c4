"""A host of flows: it posts each at its time, checks nothing itself, and tells what came."""

from __future__ import annotations

from dataclasses import replace

import pytest

from workloads.config import JobShare, QpConfig, WorkloadConfig
from workloads.events import CollectiveCompleted, RcStatistics, WorkerFailed, WorkerFinished
from workloads.flows import FlowEnd, FlowsConfig
from workloads.flows.content import content_of, digest_of
from workloads.flows.events import FlowAcked, FlowArrived, FlowBegan, FlowsLeft
from workloads.flows.host import FlowsHost
from workloads.machine import Event
from workloads.wire import Envelope

MACS, IPS = (bytes(5) + b"\1", bytes(5) + b"\2"), (bytes((10, 0, 0, 1)), bytes((10, 0, 0, 2)))


def end(side: int, number: int, size: int, start_ns: int, recovery: str = "gbn") -> FlowEnd:
    """`side` 0: of the sender, which is host 0."""
    envelope = Envelope(MACS[side], MACS[1 - side], IPS[side], IPS[1 - side])
    qpns = 0x100 + 2 * number, 0x101 + 2 * number
    qp = QpConfig(
        qpns[side], qpns[1 - side], envelope, first_psn=7, peer_first_psn=7, path_mtu=256, recovery=recovery,
        retry_count=1,
    )  # fmt: skip
    return FlowEnd(number, size, start_ns, qp)


def pair(*flows: tuple[int, int], recovery: str = "gbn", stop_ns: int | None = None) -> list[FlowsHost]:
    """The sender and the receiver of flows of (size, start)."""
    ends = [tuple(end(side, number, *flow, recovery=recovery) for number, flow in enumerate(flows)) for side in (0, 1)]
    workload = WorkloadConfig("synthetic", 5, 1, 1)
    configs = [
        FlowsConfig("h1", JobShare("flows", 1, 0, 2), workload, ends[0], (), stop_ns),
        FlowsConfig("h2", JobShare("flows", 1, 1, 2), workload, (), ends[1], stop_ns),
    ]
    return [FlowsHost(config) for config in configs]


def settle(hosts: list[FlowsHost], now: int, lost: int = 0) -> list[list[Event]]:
    """Carry frames until none is left; `lost`: so many of the sender's are dropped."""
    events: list[list[Event]] = [[], []]
    moved = True
    while moved:
        moved = False
        for side, host in enumerate(hosts):
            for _, frame in host.frames_to_send(now):
                moved = True
                if side == 0 and lost:
                    lost -= 1
                    continue
                hosts[1 - side].receive_frame(0, frame, now)
            while (event := host.next_event()) is not None:
                events[side].append(event)
    return events


def wake(hosts: list[FlowsHost], now: int) -> None:
    for host in hosts:
        timer = host.get_timer()
        if timer is not None and timer <= now:
            host.handle_timer(now)


def kinds(events: list[Event]) -> list[str]:
    return [type(event).__name__ for event in events]


@pytest.mark.parametrize("recovery", ["gbn", "irn", "irn-rack"])
def test_a_flow_arrives_bit_for_bit(recovery: str) -> None:
    hosts = pair((1000, 0), recovery=recovery)
    wake(hosts, 0)
    sent, came = settle(hosts, 0)
    assert FlowBegan(0, 1000) in sent
    assert FlowAcked(0) in sent
    assert FlowArrived(0, 1000, digest_of(content_of(5, 0, 1000))) in came
    assert sent[-1] == came[-1] == WorkerFinished(1)
    assert all(host.finished for host in hosts)


def test_each_flow_begins_at_its_time() -> None:
    hosts = pair((300, 50), (300, 10), (300, 50))
    wake(hosts, 0)
    assert hosts[0].get_timer() == 10
    assert "FlowBegan" not in kinds(settle(hosts, 0)[0])
    began = []
    for now in (10, 50):
        wake(hosts, now)
        began.append([event.flow for event in settle(hosts, now)[0] if isinstance(event, FlowBegan)])
    assert began == [[1], [0, 2]]
    assert hosts[0].get_timer() is None


def test_contents_of_flows_differ_and_follow_from_the_seed() -> None:
    assert content_of(5, 0, 64) == content_of(5, 0, 64)
    assert len({content_of(seed, number, 64) for seed in (5, 6) for number in (0, 1)}) == 4


def test_a_host_that_stops_counts_what_is_unfinished() -> None:
    hosts = pair((300, 0), (300, 0), stop_ns=100)
    wake(hosts, 0)
    settle(hosts, 0, lost=4)  # all packets
    wake(hosts, 99)
    assert not hosts[0].finished
    wake(hosts, 100)
    sent, came = settle(hosts, 100, lost=100)
    assert FlowsLeft(2, 0) in sent
    assert FlowsLeft(0, 2) in came
    assert all(host.finished for host in hosts)


def test_what_ended_before_a_stop_is_not_left() -> None:
    hosts = pair((300, 0), stop_ns=100)
    wake(hosts, 0)
    settle(hosts, 0)
    assert [host.get_timer() for host in hosts] == [None, None]


def test_a_flow_whose_retries_are_used_up_fails_its_host() -> None:
    hosts = pair((300, 0))
    wake(hosts, 0)
    events = []
    for _ in range(3):
        events += settle(hosts, hosts[0].get_timer() or 0, lost=100)[0]
        timer = hosts[0].get_timer()
        if timer is not None:
            hosts[0].handle_timer(timer)
    events += settle(hosts, 10**9)[0]
    assert [event.reason for event in events if isinstance(event, WorkerFailed)] == ["RETRY_EXC"]
    assert not hosts[0].finished


def test_memory_of_a_flow_is_released_when_it_has_arrived_and_duplicates_are_answered() -> None:
    hosts = pair((600, 0))
    wake(hosts, 0)
    frames = [bytes(frame) for _, frame in hosts[0].frames_to_send(0)]
    for frame in (*frames, *frames):
        hosts[1].receive_frame(0, frame, 0)
    settle(hosts, 0)
    assert hosts[0].finished
    hosts[1].finish(0)
    statistics = []
    while (event := hosts[1].next_event()) is not None:
        if isinstance(event, RcStatistics):
            statistics.append(event)
    assert statistics[0].duplicates_received == len(frames)
    assert statistics[0].naks_sent == 0


def test_the_digest_of_a_host_is_that_of_all_its_flows() -> None:
    found = []
    for sizes in ((300, 400), (300, 401)):
        hosts = pair(*((size, 0) for size in sizes))
        wake(hosts, 0)
        found += [event.sha256 for event in settle(hosts, 0)[1] if isinstance(event, CollectiveCompleted)]
    assert len(set(found)) == 2


def test_a_host_without_flows_ends_at_once() -> None:
    (_, idle) = pair((10, 0))
    host = FlowsHost(replace(idle._config, incoming=()))
    host.handle_timer(0)
    assert host.finished
