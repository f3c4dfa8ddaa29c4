"""The fleet where the order of what happens must be forced; all else is tested with the world."""

import os
import select
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from testbed.history import Record
from testbed.history.events import NodeExited
from testbed.kernel.interruption import Interruption
from testbed.kernel.ledger import Ledger, ProcessEntry
from testbed.worlds.emulated.control import NodeChannel
from testbed.worlds.emulated.fleet import Fleet, FleetPhase
from testbed.worlds.emulated.node import NodeLoop, NodeTask
from tests.support.emulated import make_rack_plan, needs_root
from topologies import Role
from workloads.datagrams.blocks import MemoryAtEnd
from workloads.errors import ScenarioError
from workloads.machine import Event

pytestmark = needs_root


@pytest.fixture
def ledger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Ledger]:
    monkeypatch.setenv("INA_STATE_DIR", str(tmp_path / "state"))
    ledger = Ledger.create("run-1", tmp_path)
    yield ledger
    ledger.close()


def test_what_a_node_said_is_heard_although_it_ended_before_we_knew_it(ledger: Ledger, tmp_path: Path) -> None:
    def refuse(task: NodeTask, channel: NodeChannel) -> NodeLoop:
        raise ScenarioError("no such program", key="switch.program")

    records: list[Record] = []
    told: list[Event] = []
    plan = make_rack_plan(2)
    task = NodeTask(plan, plan.scenario.topology.node("s1"), (), tmp_path)
    with Interruption() as interruption:
        fleet = Fleet(ledger, refuse, interruption, tell=told.append, on_record=records.append)
        try:
            fleet.launch(task, os.getpid())
            node = fleet._nodes["s1"]
            assert select.select([node.handle], [], [], 10)[0], "it ends by itself"
            with pytest.raises(ScenarioError, match="no such program"):
                fleet._on_exit(node)
        finally:
            fleet.close()
    assert [entry.role for entry in ledger.entries() if isinstance(entry, ProcessEntry)] == ["node s1"]


class Idle:
    """A NodeLoop that would run."""

    backend = "python"

    def run(self, origin_ns: int) -> None:
        raise AssertionError("it was stopped before it started")

    def finish(self) -> Iterator[tuple[int, Event]]:
        return iter(())


class Reporting:
    """A NodeLoop that runs until its channel stops it, and then reports."""

    backend = "python"

    def __init__(self, channel: NodeChannel) -> None:
        self._channel = channel

    def run(self, origin_ns: int) -> None:
        while self._channel.on_control():
            select.select([self._channel.socket], [], [])

    def finish(self) -> Iterator[tuple[int, Event]]:
        return iter([(1, MemoryAtEnd(1, 0, 4, 0, 4, 2, 9))])


def test_a_node_that_a_fault_restarts_as_the_job_ends_reports_before_it_stops(ledger: Ledger, tmp_path: Path) -> None:
    told: list[Event] = []
    records: list[Record] = []
    plan = make_rack_plan(2)
    task = NodeTask(plan, plan.scenario.topology.node("s1"), (), tmp_path)
    with Interruption() as interruption:
        fleet = Fleet(
            ledger, lambda _, channel: Reporting(channel), interruption, tell=told.append, on_record=records.append
        )
        try:
            fleet.start(1)  # the job runs already
            fleet.launch(task, os.getpid())
            fleet.stop(Role.SWITCH)
        finally:
            fleet.close()
    assert [(event.status, event.expected) for event in told if isinstance(event, NodeExited)] == [(0, True)]
    assert [record.event for record in records] == [MemoryAtEnd(1, 0, 4, 0, 4, 2, 9)]


def test_the_end_of_a_node_may_be_heard_before_its_last_words_of_the_same_turn(
    ledger: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[Event] = []
    plan = make_rack_plan(2)
    task = NodeTask(plan, plan.scenario.topology.node("s1"), (), tmp_path)
    with Interruption() as interruption:
        fleet = Fleet(ledger, lambda *_: Idle(), interruption, tell=told.append, on_record=lambda record: None)
        try:
            fleet.launch(task, os.getpid())
            fleet.await_all(FleetPhase.READY, 10)
            node = fleet._nodes["s1"]
            node.doomed = True
            fleet.signal("s1", signal.SIGKILL)
            for handle in (node.handle, node.connection):
                assert select.select([handle], [], [], 10)[0]
            both = sorted(fleet._selector.select(0), key=lambda found: found[0].fileobj != node.handle)
            assert len(both) == 2
            monkeypatch.setattr(fleet._selector, "select", lambda timeout: both)
            fleet.pump(0)
            monkeypatch.undo()
        finally:
            fleet.close()
    assert [(event.status, event.expected) for event in told if isinstance(event, NodeExited)] == [(-9, True)]
