"""A worker of GRID, packet by packet: where it sends, at which pace, and what it does under another plan."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.support.atp_star import SERVER_IP, SERVER_MAC, SERVICE_IP, Star
from tests.support.grid_star import AGGREGATOR_IP, NODE, everyone_to, grid_program, grid_workers, ip
from workloads.errors import ScenarioError
from workloads.events import CollectiveCompleted, DatagramResent, WorkerFinished
from workloads.grid import GridConfig, GridOrders, GridWorker, NodeShare
from workloads.hosts import create_host
from workloads.wire import Envelope
from workloads.wire.aggregation import (
    AGGREGATION_PORT,
    AggregationHeader,
    Datagram,
    DatagramFlag,
    DatagramKind,
    Policy,
    decode_datagram,
    encode_datagram,
)

HALF = (NodeShare(NODE, 1.0), NodeShare(0, 1.0))
FRAME_NS = (82 + 32) * 8 * 1_000
"""of a frame at 1 Mbit/s"""


def start(config: GridConfig) -> GridWorker:
    worker = create_host(config)
    assert isinstance(worker, GridWorker)
    worker.handle_timer(0)
    return worker


def leaving(worker: GridWorker, now: int) -> list[Datagram]:
    found = [decode_datagram(bytes(frame)) for _, frame in worker.frames_to_send(now)]
    return [each for each in found if each is not None]


def answer(worker: GridWorker, kind: int, packet: int, now: int, to: bytes = SERVICE_IP, **header: int) -> None:
    fields = AggregationHeader(Policy.GRID, kind, 7, packet + 1, 0, 7, 3, 8)._replace(**header)
    payload = bytes(4 * fields.nelem)
    frame = encode_datagram(Envelope(SERVER_MAC, bytes(6), SERVER_IP, to), AGGREGATION_PORT, fields, payload)
    worker.receive_frame(0, frame, now)


def test_packets_go_to_the_nodes_that_the_plan_chose() -> None:
    (config, *_) = grid_workers(shares=(HALF, HALF, HALF), window=8, elements=64, first_window=8)
    sent = leaving(start(config), 0)
    assert {found.dst_ip for found in sent} == {AGGREGATOR_IP, SERVER_IP}
    for found in sent:
        at_switch = found.dst_ip == AGGREGATOR_IP
        assert (found.header.node, found.header.fan_in0) == ((NODE, 3) if at_switch else (0, 1))
        assert (found.header.policy, found.header.bitmap0, found.header.flags) == (Policy.GRID, 1, 0)


def test_results_to_the_group_and_to_itself_count() -> None:
    (config, *_) = grid_workers(window=4, elements=80)
    worker = start(config)
    assert [found.header.sequence for found in leaving(worker, 0)] == [1, 2]
    answer(worker, DatagramKind.RESULT, 0, 10)
    answer(worker, DatagramKind.RESULT, 1, 10, to=ip(0))
    assert [found.header.sequence for found in leaving(worker, 10)] == [3, 4, 5, 6]
    answer(worker, DatagramKind.RESULT, 2, 10, to=ip(1))
    assert not leaving(worker, 10), "that was another worker's"


def test_what_was_turned_away_is_sent_as_at_first_and_what_timed_out_as_resend() -> None:
    (config, *_) = grid_workers(window=4)
    worker = start(config)
    leaving(worker, 0)
    answer(worker, DatagramKind.RATE, 1, 10, to=ip(0), nelem=0)
    ((found),) = leaving(worker, 10)
    assert (found.header.sequence, found.header.flags) == (2, 0)
    worker.handle_timer(config.rto_ns)
    again = leaving(worker, config.rto_ns)
    assert [(found.header.sequence, found.header.flags, found.dst_ip) for found in again] == [
        (1, DatagramFlag.RESEND, AGGREGATOR_IP)
    ]


def flags_until(worker: GridWorker, end_ns: int) -> list[int]:
    """Of all frames that leave while nothing comes back."""
    now, sent = 0, []
    while now < end_ns:
        sent += [found.header.flags for found in leaving(worker, now)]
        timer = worker.get_timer()
        assert timer is not None
        assert timer > now, "a timer in the past would never let time go on"
        now = timer
        worker.handle_timer(now)
    return sent


def test_a_paced_worker_sends_at_its_rate_and_no_faster() -> None:
    (config, *_) = grid_workers(elements=800, window=100, rate_bps=1e6)
    worker = start(replace(config, rto_ns=100 * FRAME_NS))
    assert flags_until(worker, 50 * FRAME_NS) == [0] * 50


def test_a_pace_that_is_due_is_no_timer() -> None:
    """What may leave is pulled; a timer in the past would never let time go on."""
    (config, *_) = grid_workers(elements=800, window=100, rate_bps=1e6)
    worker = start(config)
    next(iter(worker.frames_to_send(0)))
    worker.handle_timer(FRAME_NS)
    timer = worker.get_timer()
    assert timer is not None
    assert timer > FRAME_NS


def test_a_paced_worker_with_nothing_to_send_asks_for_no_timer_of_its_pace() -> None:
    (config, *_) = grid_workers(elements=16, window=2, rate_bps=1e6)
    worker = start(config)
    assert len(leaving(worker, 0)) == 1
    worker.handle_timer(FRAME_NS)
    assert len(leaving(worker, FRAME_NS)) == 1
    assert worker.get_timer() == config.rto_ns, "of the first packet"


def test_under_a_new_plan_all_that_is_outstanding_goes_another_way() -> None:
    orders = GridOrders(tuple(everyone_to(NODE, 3))), GridOrders(tuple(everyone_to(0, 3)), at_ns=500_000)
    (config, *_) = grid_workers(window=4, orders=orders)
    worker = start(config)
    assert {found.dst_ip for found in leaving(worker, 0)} == {AGGREGATOR_IP}
    assert worker.get_timer() == 500_000
    worker.handle_timer(500_000)
    again = leaving(worker, 500_000)
    assert [(f.header.sequence, f.dst_ip, f.header.flags) for f in again] == [(1, SERVER_IP, 0), (2, SERVER_IP, 0)]
    causes = []
    while (event := worker.next_event()) is not None:
        causes += [event.cause] if isinstance(event, DatagramResent) else []
    assert causes == ["replanned", "replanned"]


def test_layers_and_iterations_come_to_an_end() -> None:
    workers = grid_workers(iterations=3, elements=100)
    star = Star(workers, program=grid_program()).run().finish()
    assert len(star.told(WorkerFinished)) == 3
    assert len({event.sha256 for event in star.told(CollectiveCompleted)}) == 3


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"orders": ()}, "orders: worker .*: cannot be; found none; allowed: one or more"),
        ({"destinations": ()}, "found node 1; allowed: nodes that have an address: 0"),
        ({"elements": 2050}, "2 .. 2048"),
        ({"window": 0}, "window"),
    ],
)
def test_what_cannot_be_served_is_refused(change: dict[str, object], problem: str) -> None:
    (config, *_) = grid_workers()
    with pytest.raises(ScenarioError, match=problem):
        create_host(replace(config, **change))  # type: ignore[arg-type]
