"""Hosts on RDMA devices. This file's devices are none: they choose names as a device does, and our own endpoint keeps
them."""

from __future__ import annotations

import dataclasses
import os
import platform
import socket
import threading

import pytest

from testbed.checkers import CheckContext, run_checks
from testbed.faults.model import Drop, Match
from testbed.history import sort_history
from testbed.history.codec import encode
from testbed.history.verdict import Verdict
from testbed.plan import make_plan
from testbed.runs import run
from testbed.worlds.emulated import EmulatedWorld, devices, world
from testbed.worlds.emulated.control import LineBuffer, NodeChannel
from testbed.worlds.emulated.devices import (
    DeviceLoop,
    agree,
    build_device_host,
    device_of,
    plan_with_names,
    require_devices,
)
from testbed.worlds.emulated.node import NodeTask
from testbed.worlds.emulated.programs import build_node
from testbed.worlds.simulated import SimulatedWorld
from tests.support.emulated import make_rack_plan
from topologies import Direction
from workloads.errors import HostCapabilityError, InternalError, ScenarioError
from workloads.events import WorkerFinished
from workloads.verbs.names import VerbsNames

NICS = (("h1", "rxe0"), ("h3", "rxe2"))


def plan_on_devices(hosts=4, **options):
    plan = make_rack_plan(hosts, **options)
    return make_plan(dataclasses.replace(plan.scenario, nics=NICS, capture=True))


def chosen(rank):
    return VerbsNames(0x20_0000 + rank, 0x30_0000 + rank, 0x7F00_0000_0000 + (rank << 24), 0x99_0000 + rank)


def test_a_device_that_nobody_can_make_is_refused_with_what_would_supply_it():
    require_devices(NICS, lambda: ("rxe0", "rxe2"), lambda: False)
    require_devices(NICS, lambda: (), lambda: True)
    with pytest.raises(HostCapabilityError) as caught:
        require_devices(NICS, lambda: ("rxe0", "mlx5_0"), lambda: False)
    assert str(caught.value) == (
        "this machine lacks the RDMA device rxe2 of h3 (nics.h3); devices here: rxe0, mlx5_0, and the kernel "
        f"{platform.release()} has no rdma_rxe to make one; a card of that name, a kernel with rdma_rxe, or nics.h3: "
        "soft; "
        "`tb interop` runs unmodified endpoints on a stock kernel under QEMU"
    )
    assert caught.value.exit_code == 3


def test_the_world_asks_before_it_makes_anything(tmp_path, monkeypatch):
    def refuse(nics):
        raise HostCapabilityError(f"devices {nics}", "none")

    monkeypatch.setattr(world, "require_devices", refuse)
    with pytest.raises(HostCapabilityError, match="rxe2"):
        EmulatedWorld().run(plan_on_devices(), tmp_path / "run", lambda record: None)
    assert not list(tmp_path.iterdir())


def test_the_simulated_world_has_no_devices(tmp_path):
    with pytest.raises(ScenarioError) as caught:
        SimulatedWorld().run(plan_on_devices(), tmp_path / "run", lambda record: None)
    assert str(caught.value) == ("scenario: nics.h1: a device works in real time only; found verbs:rxe0; allowed: soft")


def test_the_true_names_reach_the_neighbours_and_the_faults():
    plan = plan_on_devices()
    told = {"h1": dataclasses.asdict(chosen(0)), "h3": dataclasses.asdict(chosen(2))}
    true = plan_with_names(plan, told)
    h1, h2, _, h4 = true.workers
    assert (h1.to_successor.qpn, h1.from_predecessor.qpn) == (chosen(0).send_qpn, chosen(0).recv_qpn)
    assert h4.to_successor.peer_qpn == chosen(0).recv_qpn
    assert (h4.collective.peer_base_va, h4.collective.peer_rkey) == (chosen(0).base_va, chosen(0).rkey)
    assert h2.to_successor.qpn == plan.workers[1].to_successor.qpn
    assert true.connections[3].requests[2] == chosen(0).recv_qpn


class FakeWorker:
    """A `VerbsWorker` that is finished at its first turn."""

    def __init__(self, config, device, source):
        self.opened, self.connected, self.turns, self.closed = (config.name, device), None, [], False
        self.names, self._events = chosen(config.collective.rank), []

    def connect(self, config):
        self.connected = config

    def get_timer(self):
        return 0 if not self.turns else None

    def handle_timer(self, now):
        self.turns.append(now)
        self._events.append(WorkerFinished(1))

    def next_event(self):
        return self._events.pop() if self._events else None

    def finish(self, now):
        self._events.append(WorkerFinished(2))

    def close(self):
        self.closed = True


@pytest.fixture
def orchestrator():
    """(channel of the node h1, the other end of it)"""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield NodeChannel(theirs, "h1"), ours


def answer(end, message):
    """What the node said first, once it was said; then it hears `message`."""
    heard = []

    def serve():
        lines = LineBuffer()
        while not heard:
            heard.extend(lines.feed(end.recv(65_536)))
        end.sendall(encode(message))

    thread = threading.Thread(target=serve)
    thread.start()
    return heard, thread


def test_a_node_makes_its_device_tells_its_names_and_connects_with_those_of_all(orchestrator):
    channel, end = orchestrator
    plan, made, attached = plan_on_devices(), [], []
    told = {"h1": dataclasses.asdict(chosen(0)), "h3": dataclasses.asdict(chosen(2))}
    heard, thread = answer(end, {"control": "names", "names": told})
    loop = build_device_host(
        NodeTask(plan, plan.scenario.topology.node("h1"), ("h1-0.abcde",), None),
        channel,
        open_worker=lambda *words: made.append(FakeWorker(*words)) or made[0],
        attach=lambda *words: attached.append(words),
    )
    thread.join()
    assert attached == [("rxe0", "h1-0.abcde")]
    assert made[0].opened == ("h1", "rxe0")
    assert heard == [{"control": "names", "names": told["h1"]}]
    assert made[0].connected == plan_with_names(plan, told).workers[0]
    end.sendall(encode({"control": "start", "origin_ns": 0}))
    assert channel.await_start() == 0
    end.sendall(encode({"control": "stop"}))
    loop.run(0)
    assert len(made[0].turns) == 1
    assert [event.iterations for _, event in loop.finish()] == [2]
    assert made[0].closed


def test_a_node_that_is_stopped_meanwhile_gives_its_device_back(orchestrator):
    channel, end = orchestrator
    plan, made = plan_on_devices(), []
    _, thread = answer(end, {"control": "stop"})
    with pytest.raises(InternalError, match="h1 was stopped before its neighbours had reported their names"):
        build_device_host(
            NodeTask(plan, plan.scenario.topology.node("h1"), ("h1-0.abcde",), None),
            channel,
            open_worker=lambda *words: made.append(FakeWorker(*words)) or made[0],
            attach=lambda *words: None,
        )
    thread.join()
    assert made[0].closed


def test_a_device_that_is_there_is_not_made_again(monkeypatch):
    made = []
    monkeypatch.setattr(devices, "load_rxe", lambda: made.append("modules"))
    monkeypatch.setattr(devices, "add_rxe", lambda *words: made.append(words))
    monkeypatch.setattr(devices, "device_names", lambda: ("rxe0",))
    devices._attach("rxe0", "h1-0.abcde")
    assert made == []
    devices._attach("rxe1", "h2-0.abcde")
    assert made == ["modules", ("rxe1", "h2-0.abcde")]


def build_with_chosen_names(task, channel):
    """The real programs, but that hosts `on devices` choose other names than planned and keep them."""
    assert build_node is not None
    plan = task.plan
    if device_of(plan, task.node.name) is not None:
        rank = next(rank for rank, worker in enumerate(plan.workers) if worker.name == task.node.name)
        plan = agree(plan, channel, chosen(rank))
    soft = dataclasses.replace(plan, scenario=dataclasses.replace(plan.scenario, nics=()))
    return build_node(dataclasses.replace(task, plan=soft), channel)


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_a_run_whose_hosts_choose_their_names_is_judged_by_them(tmp_path, monkeypatch):
    """Real processes, switch, faults and captures; only the devices are missing."""
    monkeypatch.setenv("INA_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setattr(world, "require_devices", lambda nics: None)
    lost = Drop("lost", ("h1-s1",), (Direction.UP,), match=Match(message=1, packet=0, attempt=1))
    plan, records = plan_on_devices(faults=(lost,)), []
    facts = EmulatedWorld(build_with_chosen_names).run(plan, tmp_path / "run", records.append)
    history = sort_history(records)
    assert {worker.to_successor.qpn for worker in facts.plan.workers} >= {chosen(0).send_qpn, chosen(2).send_qpn}

    def verdicts(judged):
        return {
            check.name: check.verdict for check in run_checks(CheckContext(judged, history, facts.captures)).results
        }

    assert set(verdicts(facts.plan).values()) == {Verdict.PASS}
    assert Verdict.PASS is not verdicts(plan)["transparency"]


def test_the_loop_is_named_for_the_report():
    assert DeviceLoop.backend == "verbs"


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_a_whole_run_uses_the_plan_as_it_ran(tmp_path, monkeypatch):
    monkeypatch.setenv("INA_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setattr(world, "require_devices", lambda nics: None)
    monkeypatch.setitem(run._WORLDS, "emulated", lambda: EmulatedWorld(build_with_chosen_names))
    result = run.run_scenario(plan_on_devices().scenario, tmp_path / "run")
    verdicts = {check["name"]: check["verdict"] for check in result.document["checks"]}
    assert result.document["verdict"] == "pass", verdicts
    assert verdicts["transparency"] == "pass"
