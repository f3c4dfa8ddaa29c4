"""The simulated world by way of SimPy: the same Machines, frames, link shapes and packet faults, on SimPy's event loop.

What a SimPy user would write: a process per wire and per node's alarm, events where something waits. Machines are
driven by their batch verbs, one frame at a time, so that whatever is compiled runs compiled here too. No captures, no
node faults."""

from __future__ import annotations

from collections import deque
from collections.abc import Generator
from typing import Any

import simpy

from switch_nodes.registry import create_program
from testbed.faults.link_filter import LinkFilter
from testbed.plan import Plan
from testbed.plan.filters import make_filters
from topologies import DIRECTIONS, Direction, LinkShape
from workloads.events import CollectiveCompleted, WorkerFailed, WorkerFinished
from workloads.gradients import create_source
from workloads.machine import BatchMachine, FrameBatch
from workloads.worker import WorkerMachine

__all__ = ["SimpyWorld"]

_BITS_NS = 8 * 1_000_000_000
_ROOM = 9216


class _Wire:
    def __init__(self, world: SimpyWorld, shape: LinkShape) -> None:
        self.world, self.shape = world, shape
        self.queue: deque[bytes] = deque()
        self.source: _Node | None = None
        self.target: _Node
        self.port = self.frames = 0
        self.idle: simpy.Event | None = None
        world.env.process(self.run())

    def run(self) -> Generator[simpy.Event, Any, None]:
        env, remainder = self.world.env, 0
        while True:
            frame = self.queue.popleft() if self.queue else self.source and self.source.next_frame()
            if frame is None:
                self.idle = env.event()
                yield self.idle
                continue
            self.frames += 1
            duration, remainder = divmod(len(frame) * _BITS_NS + remainder, self.shape.rate_bps)
            yield env.timeout(duration)
            self.target.arrive(self.port, frame)

    def send(self, frame: bytes) -> None:
        if len(self.queue) < self.shape.queue_packets:
            self.queue.append(frame)
            self.kick()

    def kick(self) -> None:
        if self.idle is not None:
            idle, self.idle = self.idle, None
            idle.succeed()


class _Node:
    def __init__(self, world: SimpyWorld, name: str, machine: Any) -> None:
        assert isinstance(machine, BatchMachine), "no compiler: there is nothing to compare"
        self.world, self.name, self.machine = world, name, machine
        self.wires: dict[int, _Wire] = {}
        self.ingress: dict[int, LinkFilter] = {}
        self.egress: dict[int, LinkFilter] = {}
        self.batch, self.out = FrameBatch.of(1, _ROOM), FrameBatch.of(1, _ROOM)
        self.armed: int | None = None

    def next_frame(self) -> bytes | None:
        """Of a host."""
        self.out.count = 0
        self.machine.fill_batch(self.out, self.world.env.now)
        return bytes(self.out.row(0)) if self.out.count else None

    def arrive(self, port: int, frame: bytes) -> None:
        found = self.ingress.get(port)
        if found is None:
            self.take(port, frame)
        else:
            self.world.filtered(found, port, frame, self.take)

    def take(self, port: int, frame: bytes) -> None:
        self.batch.count = 0
        self.batch.append(port, frame)
        self.machine.receive_batch(self.batch, self.world.env.now)
        self.settle()

    def leave(self, port: int, frame: bytes) -> None:
        self.wires[port].send(frame)

    def settle(self) -> None:
        world, machine, out = self.world, self.machine, self.out
        for wire in self.wires.values():
            if wire.source is self:
                wire.kick()
                continue
            while True:
                out.count = 0
                machine.fill_batch(out, world.env.now)
                if not out.count:
                    break
                port, frame = int(out.ports[0]), bytes(out.row(0))
                found = self.egress.get(port)
                if found is None:
                    self.leave(port, frame)
                else:
                    world.filtered(found, port, frame, self.leave)
            break
        while (event := machine.next_event()) is not None:
            world.tell(self.name, event)
        due = machine.get_timer()
        if due is not None and (self.armed is None or due < self.armed):
            self.armed = max(due, world.env.now)
            world.env.process(self.alarm(self.armed))

    def alarm(self, at: int) -> Generator[simpy.Event, Any, None]:
        yield self.world.env.timeout(at - self.world.env.now)
        if self.armed == at:
            self.armed = None
            self.machine.handle_timer(at)
            self.settle()


class SimpyWorld:
    def __init__(self, plan: Plan) -> None:
        self.env = simpy.Environment()
        self.digests: dict[tuple[str, int], str] = {}
        self.nodes: dict[str, _Node] = {}
        self.wires: list[_Wire] = []
        self._done = self.env.event()
        self._seen = FrameBatch.of(1, _ROOM)
        for worker in plan.workers:
            arithmetic = worker.collective.arithmetic
            source = create_source(worker.workload, worker.collective.rank, worker.collective.size, arithmetic.dtype)
            self.nodes[worker.name] = _Node(self, worker.name, WorkerMachine(worker, source))
        self._open = set(self.nodes)
        for config in plan.switches:
            node = self.nodes[config.name] = _Node(self, config.name, create_program(config))
            node.ingress, node.egress = make_filters(plan, config.name)
        for link in plan.scenario.topology.links:
            for direction in DIRECTIONS:
                ends = (link.a, link.a_port), (link.b, link.b_port)
                (sender, out), (receiver, port) = ends if direction is Direction.UP else ends[::-1]
                wire = _Wire(self, link.shape)
                wire.target, wire.port = self.nodes[receiver], port
                wire.source = self.nodes[sender] if sender in self._open else None
                self.nodes[sender].wires[out] = wire
                self.wires.append(wire)

    @property
    def hops(self) -> int:
        return sum(wire.frames for wire in self.wires)

    def run(self) -> None:
        self.env.process(self._start())
        self.env.run(until=self._done)

    def _start(self) -> Generator[simpy.Event, Any, None]:
        yield self.env.timeout(0)
        for node in self.nodes.values():
            node.settle()

    def filtered(self, found: LinkFilter, port: int, frame: bytes, go_on: Any) -> None:
        now = self.env.now
        self._seen.count = 0
        self._seen.append(port, frame)
        if found.screen(self._seen, 0, now)[0]:
            go_on(port, frame)
            return
        for delivery in found.admit(frame, now):
            if delivery.at <= now:
                go_on(port, delivery.frame)
            else:
                self.env.process(self._later(delivery.at - now, port, delivery.frame, go_on))
        while (event := found.next_event()) is not None:
            self.tell("link", event)

    def _later(self, delay: int, port: int, frame: bytes, go_on: Any) -> Generator[simpy.Event, Any, None]:
        yield self.env.timeout(delay)
        go_on(port, frame)

    def tell(self, node: str, event: Any) -> None:
        if isinstance(event, CollectiveCompleted):
            self.digests[node, event.iteration] = event.sha256
        elif isinstance(event, WorkerFinished | WorkerFailed):
            self._open.discard(node)
            if not self._open and not self._done.triggered:
                self._done.succeed()
