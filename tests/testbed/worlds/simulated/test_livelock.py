"""A node that does not come to an end ends the run, is named, and the right one is blamed: the user's program or
protocol, or we."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from switch_nodes.events import PlaneStatistics
from switch_nodes.forwarding import ForwardProgram
from switch_nodes.own_program import ProgramFailed
from switch_nodes.registry import create_program
from testbed.scenario.protocols.own_code import blame
from testbed.worlds.simulated import circling, looks
from testbed.worlds.simulated.world import Simulation
from tests.support.forging import plan_of
from workloads.errors import InternalError, ScenarioError
from workloads.hosts import create_host
from workloads.livelock import Livelock
from workloads.machine import Buffer

PROGRAMS = """
from workloads.datagrams.blocks import ContributionIgnored
from switch_nodes.forwarding import ForwardProgram

class Due(ForwardProgram):
    def get_timer(self):
        return 0
    def handle_timer(self, now):
        pass

class DueInThePast(Due):
    def get_timer(self):
        return -5

class DueSoon(ForwardProgram):
    at = 0
    def get_timer(self):
        return self.at
    def handle_timer(self, now):
        self.at = now + 1

class DueAndSends(Due):
    def handle_timer(self, now):
        self.emit(0, bytes(60))

class EndlessFrames(ForwardProgram):
    def frames_to_send(self, now):
        while True:
            yield 0, bytes(60)

class EndlessEvents(ForwardProgram):
    def next_event(self):
        return ContributionIgnored(1, 0, 0, 0, "again")

class Reflects(ForwardProgram):
    def receive_frame(self, port, frame, now):
        self.emit(self.config.ports - 1, frame)
"""
STOPS = {
    "Due": "its timer expired 10,000 times at 0 ns",
    "DueInThePast": "its timer expired 10,000 times at 0 ns",
    "DueSoon": "its timer expired 20,000 times in a row up to",
    "DueAndSends": "its timer expired 10,000 times at 0 ns",
    "EndlessFrames": "it gave out 3,000 frames in a row",
    "EndlessEvents": "it reported 3,000 events in a row",
}


@pytest.fixture(autouse=True)
def low_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workloads.livelock.MOST_AT_ONCE", 3_000)
    monkeypatch.setattr("workloads.livelock.MOST_TOLD_BY_HOST", 3_000)
    monkeypatch.setattr("workloads.livelock._MOST_IN_VAIN", 20_000)
    monkeypatch.setattr(circling, "_MOST_FRAMES", 1_000)
    monkeypatch.setattr(looks, "_CIRCLING_EVERY", 1)


@pytest.mark.parametrize("native", [False, True])
@pytest.mark.parametrize("name", STOPS)
def test_a_users_program_is_blamed_and_its_switch_is_named(tmp_path: Path, name: str, native: bool) -> None:
    file = tmp_path / "own.py"
    file.write_text(PROGRAMS)
    plan = plan_of("ring", "job.size=40kB", f"switch.program={file}:{name}")
    with pytest.raises(ProgramFailed) as caught:
        Simulation(plan, lambda record: None, native=native).run()
    assert caught.value.exit_code == 64
    text = str(caught.value)
    assert str(file) in text
    assert f"class {name}" in text
    assert "switch s1" in text
    assert STOPS[name] in text


class _Due(ForwardProgram):
    def get_timer(self) -> int | None:
        return 0

    def handle_timer(self, now: int) -> None:
        pass


class _HostWith:
    """A host's Machine with one verb that does not come to an end."""

    def __init__(self, machine: Any, **verbs: Any) -> None:
        self._machine = machine
        vars(self).update(verbs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._machine, name)


def test_a_program_of_ours_is_an_internal_error() -> None:
    plan = plan_of("ring", "job.size=40kB")
    with pytest.raises(Livelock, match=r"switch s1 does not come to an end: its timer expired 10,000 times") as caught:
        Simulation(plan, lambda record: None, create=_Due).run()
    assert isinstance(caught.value, InternalError)


@pytest.mark.parametrize("native", [False, True])
@pytest.mark.parametrize(
    "verbs", [{"get_timer": lambda: 0, "handle_timer": lambda now: None}, {"next_event": lambda: 1}]
)
def test_a_host_is_named_and_its_protocol_blamed_where_that_is_the_users(verbs: dict[str, Any], native: bool) -> None:
    def employ(config: Any, start_ns: int) -> Any:
        machine = create_host(config, start_ns)
        return _HostWith(machine, **verbs) if config.name == "h2" else machine

    if "next_event" in verbs:
        verbs["next_event"] = lambda: PlaneStatistics(*[0] * 16)
    simulation = Simulation(plan_of("ring", "job.size=40kB"), lambda record: None, employ=employ, native=native)
    with pytest.raises(Livelock, match="host h2 does not come to an end"):
        simulation.run()
    with (
        pytest.raises(ScenarioError, match=r"own\.py: the protocol's own code: host h2 .*: wakes"),
        blame("own.py:P", "protocol"),
    ):
        raise Livelock("h2", "wakes", is_host=True)
    with pytest.raises(Livelock), blame("own.py:P", "protocol"):
        raise Livelock("s1", "wakes", is_host=False)


class _Circles(ForwardProgram):
    """All that comes between switches goes back the same way."""

    def receive_frame(self, port: int, frame: Buffer, now: int) -> None:
        self.emit(self.config.ports - 1, frame)


def test_frames_that_circle_between_switches_end_the_run() -> None:
    plan = plan_of(
        "spine-leaf-ring", "time_limit=10s", "job.size=40kB", "transport.timeout=30", "topology.link.queue=8"
    )
    with pytest.raises(Livelock, match=r"switch .* does not come to an end: switches passed on .* frames up to"):
        Simulation(plan, lambda record: None, create=_Circles).run()


def test_a_run_that_comes_to_an_end_is_left_alone() -> None:
    """Low limits, and yet: nothing of ours comes near them."""
    for name in ("rack", "atp", "recursive-doubling-lossy"):
        plan = plan_of(name, "job.size=40kB")
        Simulation(plan, lambda record: None, create=create_program).run()
