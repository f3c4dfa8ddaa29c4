"""How steps of two ranks follow each other; whole jobs run in the simulated world's tests."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tests.support.fake_fabric import worker_config
from tests.workloads.collectives.test_phased import Wires, floats
from workloads.collectives.phased import PhasedCollective
from workloads.config import PhaseConfig, WorkerConfig
from workloads.events import CollectiveCompleted, PhaseStarted
from workloads.rc import SUCCESS, ReceiveCompleted, SendCompleted

MTU, LATER = 256, 10**9


def phase(number: int, kind: str = "exchange", first: int = 0, elements: int = 2) -> PhaseConfig:
    ring = worker_config(
        0, 2, path_mtu=MTU, kind=kind, phase=f"step_{number}", hello=False, rkey=number, peer_rkey=number,
        message_packets=20,
    )  # fmt: skip
    return PhaseConfig(
        replace(ring.to_successor, qpn=10 + number), replace(ring.from_predecessor, qpn=20 + number), ring.collective,
        first, elements, number,
    )  # fmt: skip


class Rank:
    """A worker of these phases over two floats, and what it put on its wires."""

    def __init__(self, *phases: PhaseConfig) -> None:
        self.wires = Wires([], {})
        whole = worker_config(0, 8, path_mtu=MTU, kind="recursive_doubling")
        config: WorkerConfig = replace(whole, phases=phases)
        self.worker = PhasedCollective(config, self.wires, 2, 2)
        self.result = np.zeros(2, "<f4")
        self.worker.open(0)

    def start(self, iteration: int, *values: float) -> None:
        self.worker.start(iteration, np.array(values, "<f4"), self.result, 0)

    def receive(self, number: int, *values: float, message: int = 0) -> None:
        data = floats(*values)
        at = message * MTU
        self.wires.memory[number][at : at + len(data)] = data
        self.worker.on_received(ReceiveCompleted(20 + number, message, message, len(data)), 0)

    def acknowledge(self, number: int, message: int = 0) -> None:
        self.worker.on_sent(SendCompleted(10 + number, message, SUCCESS), 0)

    @property
    def sent(self) -> list[tuple[int, bytes]]:
        """(step, what its segments hold now)"""
        return [(qpn - 10, b"".join(request.segments)) for qpn, request in self.wires.sent]


def test_a_step_waits_for_the_acknowledgement_of_the_one_before() -> None:
    rank = Rank(phase(1), phase(2))
    rank.start(0, 1, 2)
    rank.receive(1, 10, 20)
    assert rank.sent == [(1, floats(1, 2))]
    rank.acknowledge(1)
    assert rank.sent == [(1, floats(1, 2)), (2, floats(11, 22))]


def test_nothing_is_written_to_what_a_step_sends_until_it_is_acknowledged() -> None:
    rank = Rank(*(phase(number) for number in (1, 2, 3, 4)))
    rank.start(0, 1, 2)
    values = np.array([1, 2], "<f4")
    for step in (1, 2, 3, 4):
        rank.receive(step, 10**step, 10**step)
        assert rank.sent[-1] == (step, values.tobytes())
        values = values + np.float32(10**step)
        rank.acknowledge(step)
    assert rank.result.tolist() == [11_111, 11_112]


def test_what_comes_before_its_step_waits() -> None:
    rank = Rank(phase(1), phase(2))
    rank.start(0, 1, 2)
    rank.receive(2, 100, 200)
    assert [qpn for qpn, _ in rank.sent] == [1]
    rank.receive(1, 10, 20)
    rank.acknowledge(1)
    rank.acknowledge(2)
    assert rank.result.tolist() == [111, 222]


def test_the_result_is_whole_before_the_last_acknowledgement_and_the_next_iteration_waits_for_it() -> None:
    rank = Rank(phase(1))
    rank.start(0, 1, 2)
    rank.receive(1, 10, 20)
    rank.worker.handle_timer(LATER)
    told = []
    while (event := rank.worker.next_event()) is not None:
        told.append(event)
    assert any(isinstance(event, CollectiveCompleted) for event in told)
    assert [event.phase for event in told if isinstance(event, PhaseStarted)] == ["step_1"]
    assert not rank.worker.idle
    rank.acknowledge(1)
    assert rank.worker.idle


def test_halves_are_kept_and_given_back() -> None:
    """Rank 0 of the ring keeps the second half, and ends with both."""
    rank = Rank(phase(1, "reduce_scatter"), phase(2, "exchange", 1, 1), phase(3, "all_gather"))
    rank.start(0, 1, 2)
    assert rank.sent == [(1, floats(1))]
    rank.receive(1, 20)
    rank.acknowledge(1)
    assert rank.sent[1:] == [(2, floats(22))]
    rank.receive(2, 100)
    rank.acknowledge(2)
    assert rank.sent[2:] == [(3, floats(122))]
    rank.receive(3, 7)
    assert rank.result.tolist() == [7, 122]


def test_who_gave_its_vector_away_gets_the_result() -> None:
    giver = Rank(phase(1, "chain_reduce"), replace(phase(2, "chain_broadcast"), collective=replace(
        phase(2, "chain_broadcast").collective, rank=1)))  # fmt: skip
    giver.start(0, 1, 2)
    assert giver.sent == [(1, floats(1, 2))]
    giver.receive(2, 5, 6)
    assert giver.result.tolist() == [0, 0]
    giver.acknowledge(1)
    assert giver.result.tolist() == [5, 6]
