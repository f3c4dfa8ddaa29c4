"""How the stages of a strategy follow each other; whole jobs run in the simulated world's tests."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tests.support.fake_fabric import worker_config
from tests.workloads.collectives.test_phased import MTU, Wires, floats, phase
from workloads.collectives.staged import StagedCollective
from workloads.config import PhaseConfig
from workloads.rc import SUCCESS, ReceiveCompleted, SendCompleted


class Rank:
    """Rank 0 of two, over four floats."""

    def __init__(self, *phases: PhaseConfig) -> None:
        self.wires = Wires([], {})
        self.worker = StagedCollective(
            replace(worker_config(0, 2, path_mtu=MTU, kind="staged"), phases=phases), self.wires, 4, 2
        )
        self.result = np.zeros(4, "<f4")
        self.worker.open(0)

    def start(self, now: int, *values: float) -> None:
        self.worker.start(0, np.array(values, "<f4"), self.result, now)

    def receive(self, number: int, data: bytes, now: int, length: int | None = None) -> None:
        self.wires.memory[number][: len(data)] = data
        self.worker.on_received(ReceiveCompleted(20 + number, 0, 0, len(data) if length is None else length), now)

    @property
    def sent(self) -> list[tuple[int, bytes]]:
        return [(qpn - 10, b"".join(request.segments)[-8:]) for qpn, request in self.wires.sent]


def summed(compute_ns: int = 0, number: int = 1) -> PhaseConfig:
    return replace(phase("exchange", number, 2 * (number - 1), 2), compute_ns=compute_ns)


def test_a_stage_computes_before_it_sends() -> None:
    rank = Rank(summed(500))
    rank.start(100, 1, 2, 3, 4)
    assert not rank.sent
    assert rank.worker.get_timer() == 600
    rank.worker.handle_timer(599)
    assert not rank.sent
    rank.worker.handle_timer(600)
    assert rank.sent == [(1, floats(1, 2))]


def test_the_next_stage_computes_from_the_result_of_the_one_before() -> None:
    rank = Rank(summed(), summed(70, 2))
    rank.start(0, 1, 2, 3, 4)
    rank.worker.handle_timer(1000)
    assert [stage for stage, _ in rank.sent] == [1]
    rank.receive(1, floats(10, 20), 2000)
    assert rank.worker.get_timer() == 2070
    rank.worker.handle_timer(2070)
    assert rank.sent == [(1, floats(1, 2)), (2, floats(3, 4))]


def test_what_comes_while_it_computes_waits() -> None:
    rank = Rank(summed(), summed(70, 2))
    rank.start(0, 1, 2, 3, 4)
    rank.receive(2, floats(30, 40), 10)
    rank.receive(1, floats(10, 20), 20)
    assert rank.result.tolist() == [11, 22, 0, 0]
    rank.worker.handle_timer(90)
    assert rank.result.tolist() == [11, 22, 33, 44]


def test_a_reshard_gives_the_own_chunk_and_takes_the_other() -> None:
    """Rank 0 of two has chunk 1 of an all-gather."""
    rank = Rank(phase("all_gather", 1, 0, 4))
    rank.start(0, 1, 2, 3, 4)
    assert rank.sent == [(1, floats(3, 4))]
    rank.receive(1, floats(10, 20), 5)
    assert rank.result.tolist() == [10, 20, 3, 4]


def test_an_iteration_ends_with_all_acknowledgements() -> None:
    rank = Rank(summed(), summed(number=2))
    rank.start(0, 1, 2, 3, 4)
    for number in (1, 2):
        rank.receive(number, floats(0, 0), number)
    assert rank.worker.get_timer() is not None
    rank.worker.handle_timer(10**9)
    assert not rank.worker.idle
    for number in (1, 2):
        rank.worker.on_sent(SendCompleted(10 + number, 0, SUCCESS), 10**9)
    assert rank.worker.idle
