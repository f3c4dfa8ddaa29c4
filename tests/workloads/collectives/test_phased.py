"""What a worker of several phases refuses, and how its phases hand over; whole jobs run in the simulated world's
tests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from tests.support.fake_fabric import worker_config
from workloads.collectives.phased import PhasedCollective
from workloads.config import ArithmeticSpec, PhaseConfig, WorkerConfig
from workloads.errors import ScenarioError
from workloads.events import CollectiveCompleted, CollectiveStarted, PhaseCompleted, PhaseStarted
from workloads.rc import SUCCESS, ReceiveCompleted, ReceiveRequest, SendCompleted, SendRequest

MTU = 256
SENDING = {"reduce_scatter": 11, "netreduce": 12, "all_gather": 13}
LATER = 10**9


@dataclass
class Wires:
    """Keeps what was posted, by queue pair."""

    sent: list[tuple[int, SendRequest]]
    memory: dict[int, memoryview]

    def register_memory(self, rkey: int, base_va: int, memory: memoryview, *, endless: bool = False) -> None:
        self.memory[rkey] = memory

    def post_send(self, qpn: int, request: SendRequest, now: int) -> None:
        self.sent.append((qpn, request))

    def post_receives(self, qpn: int, requests: Sequence[ReceiveRequest]) -> None:
        pass

    def outstanding_packets(self, qpn: int) -> int:
        return 0


def phase(kind: str, number: int, first: int, elements: int) -> PhaseConfig:
    ring = worker_config(
        0, 2, path_mtu=MTU, kind=kind, phase=kind, hello=False, rkey=number, peer_rkey=number, message_packets=20
    )
    return PhaseConfig(
        replace(ring.to_successor, qpn=10 + number), replace(ring.from_predecessor, qpn=20 + number), ring.collective,
        first, elements, number, waits_for_acks=False,
    )  # fmt: skip


def worker_of(*phases: PhaseConfig, **collective: Any) -> WorkerConfig:
    return replace(worker_config(0, 4, path_mtu=MTU, kind="parallel_netreduce", **collective), phases=phases)


def parallel() -> WorkerConfig:
    """Rank 0 of two workers in its machine and of two machines: it works on the second piece of four elements."""
    return worker_of(phase("reduce_scatter", 1, 0, 4), phase("netreduce", 2, 2, 2), phase("all_gather", 3, 0, 4))


def arrive(worker: PhasedCollective, wires: Wires, number: int, message: int, slot: int, data: bytes) -> None:
    memory = wires.memory[number]
    memory[slot : slot + len(data)] = data
    worker.on_received(ReceiveCompleted(20 + number, message, message, len(data)), 0)


def floats(*values: float) -> bytes:
    return np.array(values, "<f4").tobytes()


def test_each_phase_takes_what_the_one_before_gives_and_nobody_touches_what_is_on_its_way() -> None:
    wires = Wires([], {})
    worker = PhasedCollective(parallel(), wires, 4, 1)
    gradient, result = np.array([1, 2, 3, 4], "<f4"), np.zeros(4, "<f4")
    worker.open(0)
    worker.start(0, gradient, result, 0)
    (qpn, request), *_ = wires.sent
    assert (qpn, b"".join(request.segments)) == (11, floats(1, 2))
    arrive(worker, wires, 1, 0, 0, floats(30, 40))
    qpn, contribution = wires.sent[-1]
    header, sums = contribution.segments
    assert (qpn, bytes(sums)) == (12, floats(33, 44))
    # The result replaces nothing that a retransmission of the contribution would read.
    arrive(worker, wires, 2, 0, 0, bytes(header)[:6] + bytes([1]) + bytes(header)[7:] + floats(100, 200))
    assert bytes(sums) == floats(33, 44)
    qpn, request = wires.sent[-1]
    assert (qpn, b"".join(request.segments)) == (13, floats(100, 200))
    arrive(worker, wires, 3, 0, 0, floats(7, 8))
    assert result.tolist() == [7, 8, 100, 200]
    worker.handle_timer(LATER)
    assert not worker.idle, "nothing is acknowledged yet"
    for number in (1, 2, 3):
        worker.on_sent(SendCompleted(10 + number, 0, SUCCESS), 0)
    worker.handle_timer(LATER)
    assert worker.idle
    events = []
    while (event := worker.next_event()) is not None:
        events.append(event)
    assert [event for event in events if isinstance(event, (PhaseStarted, PhaseCompleted))] == [
        PhaseStarted(0, "reduce_scatter", 16, 1), PhaseCompleted(0, "reduce_scatter"),
        PhaseStarted(0, "netreduce", 8, 1), PhaseCompleted(0, "netreduce"),
        PhaseStarted(0, "all_gather", 16, 1), PhaseCompleted(0, "all_gather"),
    ]  # fmt: skip
    assert events[0] == CollectiveStarted(0, 16, 3)
    assert sum(isinstance(event, CollectiveCompleted) for event in events) == 1


def test_what_comes_before_its_phase_waits() -> None:
    wires = Wires([], {})
    worker = PhasedCollective(parallel(), wires, 4, 1)
    result = np.zeros(4, "<f4")
    worker.open(0)
    worker.start(0, np.ones(4, "<f4"), result, 0)
    arrive(worker, wires, 3, 0, 0, floats(7, 8))
    assert [qpn for qpn, _ in wires.sent] == [11]
    assert result.tolist() == [0, 0, 0, 0]


def test_a_wrong_result_of_a_phase_is_the_workers_problem() -> None:
    wires = Wires([], {})
    worker = PhasedCollective(parallel(), wires, 4, 1)
    worker.open(0)
    worker.start(0, np.ones(4, "<f4"), np.zeros(4, "<f4"), 0)
    arrive(worker, wires, 1, 5, 0, floats(30, 40))
    assert worker.problem == ("bad_result", "message 0 came with immediate data 5 and 8 bytes, expected 8")


@pytest.mark.parametrize(
    ("worker", "text"),
    [
        (
            worker_of(phase("shift", 1, 0, 4)),
            (
                "scenario: phases.collective.kind: no such phase; found shift; allowed: netreduce, ring, "
                "reduce_scatter, "
                "all_gather, chain_reduce, chain_broadcast, exchange, swap, collect, ready"
            ),
        ),
        (
            worker_of(phase("ring", 1, 0, 4), arithmetic=ArithmeticSpec("sum", "int32sat")),
            "scenario: job.dtype: partial sums would saturate early; found int32sat; allowed: float32, int32",
        ),
    ],
)
def test_what_is_refused(worker: WorkerConfig, text: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        PhasedCollective(worker, Wires([], {}), 4, 1)
    assert str(caught.value) == text
