"""Forged frames, many of them: hosts and switches of a run that get more frames from liars than from honest peers, and
hosts that sent little or nothing and hear answers all the same."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from random import Random
from typing import Any

from switch_nodes.registry import create_program
from testbed.history import Record
from testbed.plan import Plan, make_plan
from testbed.scenario import load_scenario
from testbed.worlds.simulated.world import Simulation
from tests.support.hostile import Attacked, damaged
from workloads.hosts import create_host
from workloads.machine import Buffer, Event, FrameBatch

__all__ = ["Batched", "Heard", "attack", "plan_of", "record_run", "replay_to_mute"]

Heard = list[tuple[int, int, bytes]]
"""(time in ns, port, frame)"""
_STRIDE = 9_600
_ROWS = 8
_LEFT_OVER_NS = 3_000_000_000


def plan_of(name: str, *settings: str) -> Plan:
    return make_plan(load_scenario(name, ["time_limit=300ms", *settings], 1, "simulated"))


class Batched:
    """A Machine whose frames go in and out by its compiled fast path, where it has one."""

    def __init__(self, machine: Any) -> None:
        self._machine = machine
        self._fast = hasattr(machine, "receive_batch")
        self._in, self._out = FrameBatch.of(1, _STRIDE), FrameBatch.of(_ROWS, _STRIDE)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._machine, name)

    def receive_frame(self, port: int, frame: Buffer, now: int) -> None:
        if not self._fast or len(frame) > _STRIDE:
            self._machine.receive_frame(port, frame, now)
            return
        self._in.count = 0
        self._in.append(port, frame)
        self._machine.receive_batch(self._in, now)

    def frames_to_send(self, now: int) -> Iterable[tuple[int, Buffer]]:
        if not self._fast:
            yield from self._machine.frames_to_send(now)
            return
        while True:
            self._out.count, self._out.capacity = 0, 1
            self._machine.fill_batch(self._out, now)
            if not self._out.count:
                return
            yield int(self._out.ports[0]), bytes(self._out.row(0))


def attack(plan: Plan, seed: int, likely: float, *, enough: int, batched: bool) -> tuple[int, list[Record]]:
    """A run of a plan in which each honest frame is followed by forged ones, until there were enough. How many there
    were, and the history."""
    attacked: list[Attacked] = []

    def under_attack(machine: Any, ports: int) -> Attacked:
        attacked.append(Attacked(Batched(machine) if batched else machine, seed + len(attacked), ports, likely))
        return attacked[-1]

    records: list[Record] = []
    simulation = Simulation(
        plan, records.append,
        create=lambda config: under_attack(create_program(config), config.ports),
        employ=lambda config, start: under_attack(create_host(config, start), 1),
        native=False,
    )  # fmt: skip
    simulation.start()
    simulation.advance(
        plan.scenario.time_limit_ns,
        lambda: simulation.unfinished and sum(each.fed for each in attacked) < enough,
    )
    simulation.finish()
    return sum(each.fed for each in attacked), records


class _Recorder:
    def __init__(self, machine: Any, heard: Heard) -> None:
        self._machine, self._heard = machine, heard

    def __getattr__(self, name: str) -> Any:
        return getattr(self._machine, name)

    def receive_frame(self, port: int, frame: Buffer, now: int) -> None:
        self._heard.append((now, port, bytes(frame)))
        self._machine.receive_frame(port, frame, now)


def record_run(plan: Plan) -> dict[str, Heard]:
    """What each host hears in an honest run."""
    heard: dict[str, Heard] = defaultdict(list)
    Simulation(
        plan,
        lambda record: None,
        employ=lambda config, start: _Recorder(create_host(config, start), heard[config.name]),
        native=False,
    ).run()
    return heard


def replay_to_mute(
    machine: Any, heard: Heard, draw: Random, *, leaves: int, likely: float, told: Callable[[Event], None]
) -> int:
    """All that the host heard in an honest run, and frames that were changed from it, to one of which only the first
    `leaves` frames leave. How many frames that were."""
    fed = 0
    now = 0

    def turn(until: int) -> None:
        nonlocal leaves, now
        for _ in range(1000):
            due = machine.get_timer()
            if due is None or due > until:
                break
            now = max(now, due)
            machine.handle_timer(now)
        now = max(now, until)
        if leaves:
            for _ in machine.frames_to_send(now):
                leaves -= 1
                if not leaves:
                    break
        while (event := machine.next_event()) is not None:
            told(event)

    frames = [frame for _, _, frame in heard]
    turn(0)
    for at, port, frame in heard:
        turn(max(at, now))
        machine.receive_frame(port, frame, now)
        fed += 1
        while draw.random() < likely:
            machine.receive_frame(port, damaged(draw.choice(frames), draw), now)
            fed += 1
    turn(now + _LEFT_OVER_NS)
    machine.finish(now)
    while (event := machine.next_event()) is not None:
        told(event)
    return fed
