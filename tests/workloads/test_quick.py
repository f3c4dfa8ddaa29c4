"""A loop goes by the verbs of a Machine as soon as a subclass has one of its own; compiled or not."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from testbed.plan import make_plan
from testbed.scenario import load_scenario
from testbed.worlds.simulated.world import Simulation
from workloads.events import DatagramStatistics, WorkerFinished
from workloads.gradients import source_of
from workloads.machine import Buffer
from workloads.quick import quick_of
from workloads.switchml.worker import SwitchMlWorker


class OwnVerb(SwitchMlWorker):
    seen = 0

    def receive_frame(self, port: int, frame: Buffer, now: int) -> None:
        OwnVerb.seen += 1
        super().receive_frame(port, frame, now)


class OwnQuestion(SwitchMlWorker):
    seen = 0

    def take(self, port: int, frame: bytes, now: int) -> None:
        OwnQuestion.seen += 1
        super().take(port, frame, now)


class OwnFrames(SwitchMlWorker):
    seen = 0

    def frames_to_send(self, now: int) -> Iterator[tuple[int, bytes]]:
        for each in super().frames_to_send(now):
            OwnFrames.seen += 1
            yield each


@pytest.mark.parametrize(("kind", "is_quick"), [(OwnVerb, False), (OwnQuestion, True), (OwnFrames, False)])
def test_what_a_subclass_overrides_is_called(kind: type, is_quick: bool) -> None:
    kind.seen = 0
    records: list = []
    plan = make_plan(load_scenario("switchml-lossy", ("job.size=40kB",), 1, "simulated"))
    Simulation(plan, records.append, employ=lambda config, start: kind(config, source_of(config), start_ns=start)).run()
    worker = plan.workers[0]
    assert (quick_of(kind(worker, source_of(worker))) is not None) == is_quick
    assert kind.seen > 0
    assert sum(type(record.event) is WorkerFinished for record in records) == len(plan.workers)
    own = []
    Simulation(plan, own.append).run()
    assert own == records
    assert any(type(record.event) is DatagramStatistics for record in own)


def test_a_machine_in_front_hides_it() -> None:
    worker = make_plan(load_scenario("switchml", (), 1, "simulated")).workers[0]
    machine = SwitchMlWorker(worker, source_of(worker))
    assert quick_of(machine) is machine

    class Front:
        def __init__(self) -> None:
            self.machine = machine

        def receive_frame(self, port: int, frame: Buffer, now: int) -> None:
            machine.receive_frame(port, frame, now)

    assert quick_of(Front()) is None
