"""The emulated world with small node programs in place of the real ones."""

import itertools
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from switch_nodes.own_program import ProgramFailed
from testbed.faults.model import Kill, Pause, RateChange, Window
from testbed.history import Record
from testbed.history.events import TrafficStarted
from testbed.worlds.base import RunFacts
from testbed.worlds.emulated import EmulatedWorld
from testbed.worlds.emulated import network as network_module
from testbed.worlds.emulated import world as world_module
from testbed.worlds.emulated.control import NodeChannel
from testbed.worlds.emulated.node import NodeBuilder, NodeLoop, NodeTask
from tests.support.emulated import (
    MS,
    Said,
    ScriptedLoop,
    Step,
    builder,
    fail_at,
    finish_at,
    make_rack_plan,
    needs_root,
    processes_of,
)
from tests.support.records import held
from tests.support.selection import some_at_once
from topologies import Direction
from workloads.errors import HostCapabilityError, InternalError, ScenarioError
from workloads.events import WorkerFinished
from workloads.machine import Event

pytestmark = needs_root


class Run:
    """One run in folders of its own; checks that nothing is left whatever happened."""

    def __init__(self, tmp_path: Path) -> None:
        self.state, self.run_dir = tmp_path / "state", tmp_path / "run"
        self.records: list[Record] = []

    def go(
        self, build: NodeBuilder, on_record: Callable[[Record], None] = lambda record: None, **plan: object
    ) -> RunFacts:
        def hear(record: Record) -> None:
            self.records.append(record)
            on_record(record)

        try:
            return EmulatedWorld(build).run(make_rack_plan(**plan), self.run_dir, hear)  # type: ignore[arg-type]
        finally:
            assert not self.state.exists()
            assert processes_of(self.state) == []

    def told(self, event: str, **fields: object) -> list[Record]:
        return [
            record
            for record in self.records
            if record.name == event and all(held(record, key) == value for key, value in fields.items())
        ]

    def one(self, event: str, **fields: object) -> Record:
        found = self.told(event, **fields)
        assert len(found) == 1, found
        return found[0]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    # Set in the real environment too, by which processes_of finds what belongs to this run.
    monkeypatch.setenv("INA_STATE_DIR", str(tmp_path / "state"))
    return Run(tmp_path)


def test_a_run_from_barrier_to_last_words(run: Run) -> None:
    facts = run.go(builder({"h2": finish_at(60 * MS)}, finish_at(20 * MS)), hosts=8)
    names = [f"h{number}" for number in range(1, 9)]
    assert sorted(record.node for record in run.told("NodeStarted", role="host", backend="test")) == names
    assert run.one("NodeStarted", role="switch").node == "s1"
    assert run.one("TrafficStarted").event.nodes == 9
    kinds = [record.name for record in run.records]
    assert kinds.index("TrafficStarted") == 9, "nobody says anything before the barrier falls but that it is there"
    finished = run.told("WorkerFinished")
    assert sorted(record.node for record in finished) == names
    assert all(record.t >= 20 * MS for record in finished)
    assert run.one("WorkerFinished", node="h2").t >= 60 * MS
    assert len(run.told("Said", what="last words")) == 8
    assert len(run.told("NodeExited", status=0, expected=True, output="")) == 9
    assert len(run.told("ShapingMeasured")) == 16
    assert run.told("TimeLimitReached") == run.told("LeftoversFound") == []
    assert facts.environment["data_plane"] == "test"
    assert not (run.run_dir / "nodes").exists(), "nobody wrote to stderr"


@pytest.mark.programs
def test_a_ping_between_hosts_crosses_the_switch_and_its_shaped_links(run: Run) -> None:
    def ping() -> Iterable[Event]:
        result = subprocess.run(
            ["ping", "-c", "3", "-i", "0.02", "-s", "8000", "-M", "do", "10.77.0.3"],
            capture_output=True,
            text=True,
            timeout=5,
        )
        return [Said(result.stdout + result.stderr), WorkerFinished(1)]

    run.go(builder({"h1": [(10 * MS, ping)]}, finish_at(0)))
    assert "3 received" in held(run.told("Said", node="h1")[0], "what")
    assert held(run.one("Said", node="s1"), "what") == "forwarded 6", "no frame but the six of the ping"
    for link in ("h1-s1", "h2-s1"):
        for direction in ("up", "down"):
            measured = run.one("ShapingMeasured", link=link, direction=direction)
            assert (measured.event.bytes, measured.event.drops) == (3 * (8000 + 8 + 20 + 14), 0)


def test_roce_frames_draw_no_answer_from_the_hosts_kernel(run: Run) -> None:
    def send() -> Iterable[Event]:
        import socket

        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
            for _ in range(5):
                sock.sendto(b"x" * 100, ("10.77.0.3", 4791))
        time.sleep(0.1)
        return [WorkerFinished(1)]

    run.go(builder({"h1": [(10 * MS, send)]}, finish_at(0)))
    assert held(run.one("Said", node="s1"), "what") == "forwarded 5", "no ICMP port unreachable came back"


def test_all_start_at_the_same_time_however_late_one_is_ready(run: Run) -> None:
    scripts = builder({}, [(0, lambda: [Said(str(time.monotonic_ns())), WorkerFinished(1)])])

    def build(task: NodeTask, channel: NodeChannel) -> NodeLoop:
        time.sleep(1 if task.node.name == "h2" else 0)
        return scripts(task, channel)

    run.go(build)
    stamps = [int(held(record, "what")) for record in run.told("Said") if held(record, "what").isdecimal()]
    assert len(stamps) == 2
    assert max(stamps) - min(stamps) < 900 * MS
    assert min(record.t for record in run.told("WorkerFinished")) >= 0


def test_a_crash_is_reported_with_the_end_of_its_output(run: Run) -> None:
    def crash() -> Iterable[Event]:
        raise ZeroDivisionError("a bug of ours")

    with pytest.raises(InternalError) as caught:
        run.go(builder({"h2": [(20 * MS, lambda: [Said("still here")]), (30 * MS, crash)]}))
    assert str(caught.value).startswith("node h2 ended unexpectedly (exit code 70)\nTraceback")
    assert str(caught.value).endswith("ZeroDivisionError: a bug of ours")
    exited = run.one("NodeExited", node="h2")
    assert (exited.event.status, exited.event.expected) == (70, False)
    assert "ZeroDivisionError: a bug of ours" in exited.event.output
    assert run.told("Said", what="still here"), "what it said before is not lost"
    assert "ZeroDivisionError" in (run.run_dir / "nodes" / "h2.log").read_text()


def test_a_program_of_a_users_own_that_fails_is_no_crash_of_ours(run: Run) -> None:
    def fail() -> Iterable[Event]:
        raise ProgramFailed("the program's own code failed", file="a.py", line=3, key="class A")

    with pytest.raises(ScenarioError) as caught:
        run.go(builder({"h2": [(20 * MS, lambda: [Said("still here")]), (30 * MS, fail)]}))
    assert str(caught.value) == "a.py:3: class A: the program's own code failed"
    assert run.told("Said", what="still here"), "what it said before is not lost"


def test_a_node_that_a_signal_ended_is_reported(run: Run) -> None:
    with pytest.raises(InternalError, match=r"^node h1 ended unexpectedly \(signal SIGKILL\)"):
        run.go(builder({"h1": [(20 * MS, lambda: os.kill(os.getpid(), signal.SIGKILL) or [])]}))


@pytest.mark.parametrize(
    "error", [ScenarioError("no such program", key="switch.program"), HostCapabilityError("x", "y")]
)
def test_a_node_that_may_not_be_passes_its_error_on(run: Run, error: Exception) -> None:
    def build(task: NodeTask, channel: NodeChannel) -> NodeLoop:
        if task.node.name == "s1":
            raise error
        return ScriptedLoop(channel)

    with pytest.raises(type(error)) as caught:
        run.go(build)
    assert str(caught.value) == str(error)


def test_a_node_that_does_not_stop_says_where_it_hangs(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    from testbed.worlds.emulated import fleet

    def hang_in_here() -> Iterable[Event]:
        time.sleep(60)
        return []

    monkeypatch.setattr(fleet, "_STOP_TIMEOUT_S", 0.3)
    with pytest.raises(InternalError) as caught:
        run.go(builder({"h1": [(30 * MS, hang_in_here)]}), time_limit_ns=100 * MS)
    assert str(caught.value).startswith("after 0.3 s not gone: h1")
    assert "hang_in_here" in str(caught.value)


def test_the_time_limit_names_who_is_not_done(run: Run) -> None:
    run.go(builder({"h2": finish_at(10 * MS)}), hosts=3, time_limit_ns=150 * MS)
    reached = run.one("TimeLimitReached")
    assert (reached.event.limit_ns, list(reached.event.unfinished)) == (150 * MS, ["h1", "h3"])
    assert reached.t >= 150 * MS
    assert len(run.told("Said", what="last words")) == 3, "final events are collected all the same"


def test_after_a_failure_the_others_have_a_grace_and_no_more(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(world_module._Run, "_grace_ns", lambda self: 200 * MS)
    run.go(builder({"h1": fail_at(20 * MS), "h2": fail_at(120 * MS)}), hosts=3, time_limit_ns=60_000 * MS)
    assert len(run.told("WorkerFailed")) == 2
    assert run.told("TimeLimitReached") == []
    assert min(record.t for record in run.told("ShapingMeasured")) >= 220 * MS


def test_when_all_have_failed_nobody_waits(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(world_module._Run, "_grace_ns", lambda self: 30_000 * MS)
    run.go(builder({}, fail_at(20 * MS)), time_limit_ns=60_000 * MS)
    assert max(record.t for record in run.told("ShapingMeasured")) < 20_000 * MS


def ticking(until_ms: int) -> list[Step]:
    return [(at * MS, lambda: [Said("tick")]) for at in range(0, until_ms, 10)] + finish_at(until_ms * MS)


def test_a_pause_stops_a_node_and_heals(run: Run) -> None:
    run.go(
        builder({"h1": ticking(400), "h2": ticking(400)}),
        faults=[Pause("pause-1", "h1", Window(100 * MS, 300 * MS))],
    )
    struck, healed = run.one("FaultStruck"), run.one("FaultHealed", fault="pause-1", target="h1")
    assert {key: held(struck, key) for key in ("fault", "kind", "backend", "target", "occurrence", "psn")} == {
        "fault": "pause-1",
        "kind": "pause",
        "backend": "signal",
        "target": "h1",
        "occurrence": 1,
        "psn": -1,
    }
    assert struck.t >= 100 * MS
    assert healed.t >= 300 * MS

    def longest_gap(node: str) -> int:
        times = [record.t for record in run.told("Said", node=node, what="tick")]
        return max(later - earlier for earlier, later in itertools.pairwise(times))

    assert longest_gap("h1") >= 150 * MS
    assert len(run.told("WorkerFinished")) == 2


def test_a_pause_without_an_end_does_not_keep_the_run_from_its_end(run: Run) -> None:
    run.go(builder({}, finish_at(100 * MS)), faults=[Pause("pause-1", "s1", Window(20 * MS))])
    assert run.one("FaultStruck", kind="pause", target="s1")
    assert run.one("NodeExited", node="s1").event.expected is True


def test_a_paused_node_can_be_killed(run: Run) -> None:
    faults = [Pause("pause-1", "h1", Window(20 * MS)), Kill("kill-1", "h1", Window(60 * MS))]
    run.go(builder({"h2": finish_at(150 * MS)}), faults=faults)
    assert run.one("NodeExited", node="h1").event.status == -signal.SIGKILL


def test_a_killed_worker_is_expected_and_not_waited_for(run: Run) -> None:
    run.go(builder({"h2": finish_at(150 * MS)}), faults=[Kill("kill-1", "h1", Window(50 * MS))])
    assert run.one("FaultStruck", kind="kill", backend="signal", target="h1").t >= 50 * MS
    exited = run.one("NodeExited", node="h1")
    assert (exited.event.status, exited.event.expected) == (-signal.SIGKILL, True)
    assert run.told("TimeLimitReached") == []


def test_a_killed_node_comes_back_with_empty_state_and_the_same_clock(run: Run) -> None:
    script: list[Step] = [(0, lambda: [Said(f"born as {os.getpid()}")]), *finish_at(300 * MS)]
    run.go(builder({"h1": script}, finish_at(0)), faults=[Kill("kill-1", "h1", Window(50 * MS, 120 * MS))])
    births = [record for record in run.told("Said", node="h1") if held(record, "what").startswith("born")]
    assert len({held(record, "what") for record in births}) == 2
    assert births[1].t >= 120 * MS, "its clock counts from the start of the traffic, not from its own"
    assert run.one("FaultHealed", fault="kill-1", target="h1")
    assert len(run.told("NodeStarted", node="h1")) == 2
    assert run.one("WorkerFinished", node="h1").t >= 300 * MS


def test_a_rate_changes_for_its_window(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    set_rate = network_module.Network.set_rate

    def spy(self: network_module.Network, link: object, direction: Direction, rate_bps: int) -> None:
        set_rate(self, link, direction, rate_bps)  # type: ignore[arg-type]
        seen.append((str(direction), self.read_shaping(link, direction).rate_bps))  # type: ignore[arg-type]

    monkeypatch.setattr(network_module.Network, "set_rate", spy)
    fault = RateChange("rate-1", ("h1-s1",), (Direction.UP, Direction.DOWN), Window(20 * MS, 60 * MS), 2_000_000)
    run.go(builder({}, finish_at(150 * MS)), faults=[fault])
    assert seen == [("up", 2_000_000), ("down", 2_000_000), ("up", 50_000_000), ("down", 50_000_000)]
    assert [record.event.direction for record in run.told("FaultStruck", kind="rate_change", backend="netlink")] == [
        "up",
        "down",
    ]
    assert len(run.told("FaultHealed", fault="rate-1", target="h1-s1")) == 2


@pytest.mark.parametrize("number", some_at_once([signal.SIGINT, signal.SIGTERM, signal.SIGHUP], quick=[signal.SIGTERM]))
def test_an_interruption_tears_down_and_is_told(run: Run, number: int) -> None:
    before = signal.getsignal(number)

    def interrupt(record: Record) -> None:
        if isinstance(record.event, TrafficStarted):
            # Twice: the impatient second one must not cut the teardown short.
            for delay in (0.05, 0.06):
                threading.Timer(delay, os.kill, (os.getpid(), number)).start()

    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        run.go(builder({}), interrupt)
    assert time.monotonic() - began < 30
    assert signal.getsignal(number) is before


@pytest.mark.parametrize(
    "step", some_at_once(["_add_node", "_enter", "_add_link", "_configure", "_verify"], quick=["_add_link", "_verify"])
)
def test_an_interruption_during_the_build(run: Run, monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    took = getattr(network_module._Builder, step)
    made = []

    def spy(self: object, part: object, *args: object) -> None:
        made.append(part)
        os.kill(os.getpid(), signal.SIGINT)
        took(self, part, *args)

    monkeypatch.setattr(network_module._Builder, step, spy)
    with pytest.raises(KeyboardInterrupt):
        run.go(builder({}))
    assert len(made) == 1, "nothing more is built"


def test_an_interruption_while_the_machine_is_probed(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    probed = []

    def probe(needs: object) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        probed.append(needs)

    monkeypatch.setattr(world_module, "require", probe)
    with pytest.raises(KeyboardInterrupt):
        run.go(builder({}))
    assert len(probed) == 1, "raised where it can be, not in the middle"
    assert not run.run_dir.exists()


def test_a_missing_capability_is_told_before_anything_is_made(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(HostCapabilityError, match=r"^this machine lacks Mininet for this interpreter, and mnexec "):
        run.go(builder({}))
    assert not run.run_dir.exists()
    assert run.records == []


def test_a_node_inherits_no_socket_of_the_orchestrator(run: Run) -> None:
    def handles() -> Iterable[Event]:
        targets = []
        for name in os.listdir("/proc/self/fd"):
            try:
                targets.append(os.readlink(f"/proc/self/fd/{name}"))
            except FileNotFoundError:
                continue
        sockets = sum(target.startswith("socket:") for target in targets)
        foreign = {target for target in targets if "ptmx" in target or "pts" in target or "ledger" in target}
        return [Said(f"{sockets} {sorted(foreign)}"), WorkerFinished(1)]

    run.go(builder({}, [(0, handles)]))
    assert {held(record, "what") for record in run.told("Said", node="h1")} == {"1 []", "last words"}
