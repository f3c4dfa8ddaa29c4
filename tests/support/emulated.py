"""Small node programs for tests of the emulated world, and the plans they run in. They run in real node processes."""

from __future__ import annotations

import os
import select
import socket
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from testbed.faults.model import Fault
from testbed.plan import Plan, make_plan
from testbed.scenario.model import Scenario
from testbed.worlds.emulated.control import NodeChannel
from testbed.worlds.emulated.node import NodeBuilder, NodeLoop, NodeTask
from topologies import LinkShape, Role, rack
from workloads.events import WorkerFailed, WorkerFinished
from workloads.machine import Event

MS = 1_000_000
needs_root = [pytest.mark.root, pytest.mark.skipif(os.geteuid() != 0, reason="needs root")]
SHAPE = LinkShape(rate_bps=50_000_000, mtu=9000, queue_packets=123)


def make_rack_plan(
    hosts: int = 2, *, shape: LinkShape = SHAPE, faults: Sequence[Fault] = (), time_limit_ns: int = 10_000 * MS
) -> Plan:
    scenario = Scenario(
        "test", rack(hosts, shape), shape, faults=tuple(faults), time_limit_ns=time_limit_ns, dilation=1
    )
    scenario = replace(scenario, job=replace(scenario.job, size_bytes=4_000))
    return make_plan(scenario)


@dataclass(frozen=True, slots=True)
class Said(Event):
    """Something that a test program tells."""

    what: str


Step = tuple[int, Callable[[], Iterable[Event]]]
"""(when, in ns since the start; what happens then, and what is told of it)"""


class ScriptedLoop:
    """Does its steps in time order, then waits to be stopped."""

    backend = "test"

    def __init__(self, channel: NodeChannel, steps: Sequence[Step] = ()) -> None:
        self._channel, self._steps = channel, list(steps)

    def run(self, origin_ns: int) -> None:
        poller = select.poll()
        poller.register(self._channel.socket, select.POLLIN)
        going = True
        while going:
            now = time.monotonic_ns() - origin_ns
            while self._steps and self._steps[0][0] <= now:
                for event in self._steps.pop(0)[1]():
                    self._channel.on_event(time.monotonic_ns() - origin_ns, event)
            timeout = max(0, self._steps[0][0] - now) / MS + 0.1 if self._steps else None
            if poller.poll(timeout):
                going = self._channel.on_control()

    def finish(self) -> Iterator[tuple[int, Event]]:
        yield 0, Said("last words")


class ForwardingLoop:
    """A switch: frames go out by the static table of MAC addresses."""

    backend = "test"

    def __init__(self, task: NodeTask, channel: NodeChannel) -> None:
        self._channel = channel
        self._sockets = []
        for interface in task.interfaces:
            sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
            sock.bind((interface, 3))
            self._sockets.append(sock)
        switch = next(config for config in task.plan.switches if config.name == task.node.name)
        self._ports = dict(switch.macs)
        self._count = 0

    def run(self, origin_ns: int) -> None:
        poller = select.poll()
        poller.register(self._channel.socket, select.POLLIN)
        by_handle = {sock.fileno(): sock for sock in self._sockets}
        for handle in by_handle:
            poller.register(handle, select.POLLIN)
        going = True
        while going:
            for handle, _ in poller.poll():
                if handle == self._channel.socket.fileno():
                    going = self._channel.on_control()
                else:
                    self._forward(by_handle[handle])

    def _forward(self, sock: socket.socket) -> None:
        frame, address = sock.recvfrom(65_536)
        port = self._ports.get(frame[:6])
        if address[2] != socket.PACKET_OUTGOING and port is not None:
            self._count += 1
            self._sockets[port].send(frame)

    def finish(self) -> Iterator[tuple[int, Event]]:
        yield 0, Said(f"forwarded {self._count}")


def finish_at(ns: int) -> list[Step]:
    return [(ns, lambda: [WorkerFinished(1)])]


def fail_at(ns: int) -> list[Step]:
    return [(ns, lambda: [WorkerFailed("RETRY_EXC", "the card does not answer")])]


def processes_of(state_dir: Path) -> list[int]:
    """Living processes that were started with this state folder: found without any ledger."""
    wanted = f"INA_STATE_DIR={state_dir}".encode()
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal() and int(entry.name) != os.getpid():
            try:
                environment = (entry / "environ").read_bytes()
            except OSError:
                continue
            if wanted in environment.split(b"\0"):
                found.append(int(entry.name))
    return found


def builder(scripts: Mapping[str, Sequence[Step]], default: Sequence[Step] = ()) -> NodeBuilder:
    """Hosts follow their scripts; switches forward."""

    def build(task: NodeTask, channel: NodeChannel) -> NodeLoop:
        if task.node.role is Role.SWITCH:
            return ForwardingLoop(task, channel)
        return ScriptedLoop(channel, scripts.get(task.node.name, default))

    return build
