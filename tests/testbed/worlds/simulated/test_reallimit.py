"""A simulated run that takes longer than it may by the clock on the wall."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from switch_nodes.config import SwitchConfig
from switch_nodes.registry import create_program
from testbed.checkers import CheckContext
from testbed.checkers.liveness import liveness
from testbed.history import Record, sort_history
from testbed.history.events import RealLimitReached, TimeLimitReached
from testbed.history.verdict import Verdict
from testbed.worlds.simulated import SimulatedWorld, looks
from testbed.worlds.simulated import world as simulated_world
from testbed.worlds.simulated.nodes import FinishingMachine
from testbed.worlds.simulated.reallimit import RealLimit
from testbed.worlds.simulated.world import Simulation
from tests.support.simulation import rack_plan
from workloads.events import WorkerFailed, WorkerFinished
from workloads.machine import Buffer


def ticks(monkeypatch: pytest.MonkeyPatch) -> None:
    """A clock on the wall that goes on by a second with each look."""
    clock = itertools.count()

    def limit(limit_s: float | None, nodes: object, told: object) -> RealLimit:
        return RealLimit(limit_s, nodes, told, lambda: float(next(clock)))  # type: ignore[arg-type]

    monkeypatch.setattr(simulated_world, "RealLimit", limit)
    monkeypatch.setattr(looks, "EVERY", 1)


@pytest.mark.parametrize("native", [True, False])
def test_it_ends_at_the_limit_and_says_what_it_did(monkeypatch: pytest.MonkeyPatch, *, native: bool) -> None:
    ticks(monkeypatch)
    records: list[Record] = []
    plan = rack_plan(2)
    Simulation(plan, records.append, native=native, real_limit_s=40.0).run()
    (over,) = [record for record in records if isinstance(record.event, RealLimitReached)]
    assert over.event.limit_s == 40.0
    assert over.event.unfinished == ("h1", "h2")
    assert over.event.busiest in ("h1", "h2", "s1")
    assert over.event.frames + over.event.events > 0
    assert 4 <= over.event.last_s <= 12
    assert not [record for record in records if isinstance(record.event, TimeLimitReached | WorkerFinished)]
    result = liveness(CheckContext(plan, sort_history(records)))
    assert result.verdict is Verdict.UNKNOWN
    assert result.detail.startswith("ended after 40.0 s of real time at ")
    assert f"{over.event.busiest} did most: " in result.detail
    assert "in iteration 1 of " in result.detail
    assert "--real-limit 1h allows more time" in result.detail


def test_without_a_limit_it_looks_at_no_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    ticks(monkeypatch)
    records: list[Record] = []
    Simulation(rack_plan(2), records.append).run()
    assert not [record for record in records if isinstance(record.event, RealLimitReached)]


def test_a_run_within_its_limit_is_as_without(tmp_path: Path) -> None:
    plan = rack_plan(2)
    free: list[Record] = []
    bound: list[Record] = []
    SimulatedWorld().run(plan, tmp_path, free.append)
    SimulatedWorld(real_limit_s=3600).run(plan, tmp_path, bound.append)
    assert free == bound


def test_a_queue_pair_that_failed_before_the_end_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    ticks(monkeypatch)
    records: list[Record] = []
    plan = rack_plan(2)
    Simulation(plan, records.append, real_limit_s=40.0).run()
    failed = replace(records[-1], node="h1", event=WorkerFailed("bad_result", "a wrong header"))
    assert liveness(CheckContext(plan, sort_history([*records, failed]))).verdict is Verdict.FAIL


class Restless:
    """A switch program whose timer has always expired 1 ns later, and sends a useless frame each time."""

    def __init__(self, program: FinishingMachine) -> None:
        self._program, self._due, self._waits = program, 0, 0

    def get_timer(self) -> int:
        return self._due

    def handle_timer(self, now: int) -> None:
        self._due, self._waits = now + 1, self._waits + 1

    def frames_to_send(self, now: int) -> Iterator[tuple[int, Buffer]]:
        yield from self._program.frames_to_send(now)
        while self._waits:
            self._waits -= 1
            yield 0, bytes(64)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._program, name)


def test_a_switch_that_never_rests_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    ticks(monkeypatch)
    records: list[Record] = []

    def create(config: SwitchConfig) -> Restless:
        return Restless(create_program(config))

    Simulation(rack_plan(2), records.append, create=create, real_limit_s=5_000.0).run()  # type: ignore[arg-type]
    (over,) = [record.event for record in records if isinstance(record.event, RealLimitReached)]
    assert over.busiest == "s1"
    assert over.wakeups >= 100
    assert over.last_ns < 1_000_000
