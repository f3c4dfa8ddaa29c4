"""One node under a data plane that stands in for the real one."""

from __future__ import annotations

import dataclasses
import importlib
import json
import os
import signal
import time
from collections import deque
from dataclasses import dataclass
from types import SimpleNamespace

import pytest

from switch_nodes.config import SwitchConfig
from switch_nodes.netreduce import NetReduceProgram
from switch_nodes.registry import create_program
from testbed.cli import main
from tests.support.fake_modules import install_fake
from tests.support.nodetexts import SWITCH_TEXT, WORKER_TEXT
from workloads.machine import Event


@pytest.fixture(autouse=True)
def as_root(monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 0)


@dataclass(frozen=True, slots=True)
class _Fact(Event):
    number: int


class _Machine:
    """Tells one fact while it runs and one when it is asked to finish."""

    def __init__(self, config, source=None):
        self.config, self.events = config, deque([_Fact(1)])
        self.finished = self.failed = False

    def next_event(self):
        return self.events.popleft() if self.events else None

    def finish(self, now):
        self.events.append(_Fact(2))


class _Plane:
    """Runs until `until` says so; `wake` is what happens in each round."""

    wake = staticmethod(lambda machine, round_number: None)
    rounds = 0

    def __init__(self, machine, interfaces, director, *, backpressure, stages, timing):
        if "gone" in interfaces:
            raise OSError(19, "No such device")
        self.machine, self.on_event = machine, director.on_event
        type(self).made = (tuple(interfaces), backpressure)
        type(self).dilation = timing.clock.dilation

    def run(self, origin_ns, *, until):
        for number in range(1000):
            self.wake(self.machine, number)
            while (event := self.machine.next_event()) is not None:
                self.on_event(7, event)
            if until():
                type(self).rounds = number
                return
        raise AssertionError("nobody stopped it")


@pytest.fixture
def plane(monkeypatch):
    for module in ("workloads.verbs", "testbed.protocols.netreduce"):
        importlib.import_module(module)  # whose parts must not keep the fakes
    made = type("_OnePlane", (_Plane,), {})
    install_fake(monkeypatch, "switch_nodes.dataplane", DataPlane=made)
    install_fake(monkeypatch, "switch_nodes.registry", create_program=_Machine)
    install_fake(monkeypatch, "workloads.gradients", create_source=lambda *told: SimpleNamespace(told=told))
    install_fake(monkeypatch, "workloads.worker", WorkerMachine=_Machine)
    install_fake(monkeypatch, "workloads.fallback", create_worker=_Machine)
    return made


def _facts(capsys):
    return [fact["number"] for fact in _told(capsys) if fact["event"] == "_Fact"]


def _told(capsys):
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_switch_runs_until_a_signal_and_tells_its_last_facts(plane, capsys, number):
    plane.wake = staticmethod(lambda machine, at: os.kill(os.getpid(), number) if at == 3 else None)
    before = signal.getsignal(number)
    assert main(["switch", "--program", "forward", "--port", "a", "--port", "b"]) == 0
    assert _facts(capsys) == [1, 2]
    assert plane.rounds == 3
    assert plane.made == (("a", "b"), False)
    assert signal.getsignal(number) == before


def test_a_switch_whose_own_program_fails_says_where(plane, monkeypatch, tmp_path, capsys):
    install_fake(monkeypatch, "switch_nodes.registry", create_program=create_program)
    file = tmp_path / "mine.py"
    verb = "    def finish(self, now):\n        raise SystemExit(0)\n"
    file.write_text(f"from switch_nodes.forwarding import ForwardProgram\n\nclass Mine(ForwardProgram):\n{verb}")
    plane.wake = staticmethod(lambda machine, at: os.kill(os.getpid(), signal.SIGTERM) if at == 1 else None)
    assert main(["switch", "--program", f"{file}:Mine", "--port", "a"]) == 64
    failed = "the program's own code failed on switch switch in finish: SystemExit: 0"
    assert capsys.readouterr().err == f"tb: {file}:5: class Mine: {failed}\n"


_OWN = (
    "import os\nfrom switch_nodes.forwarding import ForwardProgram\n\n{first}class Mine(ForwardProgram):\n    {verb}\n"
)


def _asking_the_parent(signals):
    """In the process of the program: signals to the one that `tb switch` is, by turn; each turn leaves it time to pass
    them on."""

    def wake(machine, at):
        if at in signals:
            os.kill(os.getppid(), signals[at])
        time.sleep(0.02)

    return wake


@pytest.mark.parametrize(
    ("first", "verb"),
    [
        ("", "def finish(self, now): os._exit(0)"),
        ("", "def __init__(self, config): os._exit(0)"),
        ("os._exit(0)\n", "pass"),
    ],
)
def test_a_program_that_ends_its_process_does_not_end_the_command(plane, monkeypatch, tmp_path, capfd, first, verb):
    install_fake(monkeypatch, "switch_nodes.registry", create_program=create_program)
    file = tmp_path / "mine.py"
    file.write_text(_OWN.format(first=first, verb=verb))
    plane.wake = staticmethod(_asking_the_parent({1: signal.SIGTERM}))
    assert main(["switch", "--program", f"{file}:Mine", "--port", "a"]) == 64
    ends = "the program's own code ended its process (exit code 0)"
    assert capfd.readouterr().err == f"tb: {file}: class Mine: {ends}\n"


@pytest.mark.parametrize("last", [signal.SIGTERM, signal.SIGINT])
def test_signals_reach_the_switch_of_an_own_program(plane, monkeypatch, tmp_path, capfd, last):
    install_fake(monkeypatch, "switch_nodes.registry", create_program=create_program)
    file = tmp_path / "mine.py"
    file.write_text(_OWN.format(first="", verb="pass"))
    plane.wake = staticmethod(_asking_the_parent({1: signal.SIGUSR1, 30: last}))
    before = [signal.getsignal(number) for number in (last, signal.SIGUSR1)]
    assert main(["switch", "--program", f"{file}:Mine", "--port", "a"]) == 0
    told = [json.loads(line)["event"] for line in capfd.readouterr().out.splitlines()]
    assert told == ["SwitchStarted", "SwitchStatistics", "SwitchStatistics"]
    assert [signal.getsignal(number) for number in (last, signal.SIGUSR1)] == before


@pytest.mark.parametrize("told", [[], ["--config", "s1.yaml"]])
@pytest.mark.parametrize(
    ("program", "key", "problem"),
    [
        ("grid", "grid", ("program grid has no plan to follow; found none; allowed: `grid` with one entry of `orders` "
                         "or more (RoutedSwitch in switch_nodes/routes/layout.py)")),
        ("steer", "steering", "program steer has nothing to make rules from"),
    ],
)  # fmt: skip
def test_what_a_program_misses_in_its_file_is_named_by_the_files_keys(
    plane, monkeypatch, tmp_path, capsys, program, key, problem, told
):
    install_fake(monkeypatch, "switch_nodes.registry", create_program=create_program)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s1.yaml").write_text("name: s1\n", encoding="utf-8")
    assert main(["switch", "--program", program, "--port", "a", *told]) == 64
    if told:
        wanted = f"tb: s1.yaml:1: {key}: switch s1: {problem}"
    else:
        allowed = "" if "allowed" in problem else f"; allowed: a file with `{key}`"
        wanted = f"tb switch: --config: switch switch: {problem}{allowed}"
    assert capsys.readouterr().err == f"{wanted}\n"


def test_the_help_lists_every_key_of_the_file(capsys):
    assert main(["switch", "--help"]) == 0
    words = capsys.readouterr().out.replace(",", " ").replace(".", " ").split()
    keys = {field.name for field in dataclasses.fields(SwitchConfig)} - {"program", "ports"}
    assert keys - set(words) == set()


def test_a_worker_captures_only_where_nobody_else_can_change_it(plane, tmp_path, capsys):
    (tmp_path / "h1.yaml").write_text(WORKER_TEXT, encoding="utf-8")
    folder = tmp_path / "open"
    folder.mkdir()
    folder.chmod(0o777)
    words = ["--config", str(tmp_path / "h1.yaml"), "--port", "a", "--capture", str(folder / "h1.pcapng")]
    assert main(["worker", *words]) == 64
    told = "tb worker: --capture: others could change what is in this folder; found everybody can write to"
    assert capsys.readouterr().err.startswith(told)
    assert list(folder.iterdir()) == []


def _switch_that_is_told(plane, monkeypatch, tmp_path, acts):
    """A real program under the stand-in plane; `acts` happen before the turns of these numbers, the last one stops
    it."""
    install_fake(monkeypatch, "switch_nodes.registry", create_program=NetReduceProgram)
    path = tmp_path / "s1.yaml"
    path.write_text(SWITCH_TEXT, encoding="utf-8")
    last = max(acts) + 2

    def wake(machine, at):
        if at in acts:
            acts[at](path)
        if at == last:
            os.kill(os.getpid(), signal.SIGTERM)

    plane.wake = staticmethod(wake)
    assert main(["switch", "--program", "netreduce", "--port", "a", "--port", "b", "--config", str(path)]) == 0


def _hang_up(path, change=("", "")):
    path.write_text(SWITCH_TEXT.replace(*change), encoding="utf-8")
    os.kill(os.getpid(), signal.SIGHUP)


def test_a_harness_can_wait_for_the_line_that_tells_the_start(plane, monkeypatch, tmp_path, capsys):
    _switch_that_is_told(plane, monkeypatch, tmp_path, {1: lambda path: None})
    first = _told(capsys)[0]
    assert {**first, "t": 0} == {
        "t": 0, "event": "SwitchStarted", "program": "netreduce", "interfaces": ["a", "b"], "rings": [1],
    }  # fmt: skip


def test_sighup_installs_the_rings_that_the_file_names_then(plane, monkeypatch, tmp_path, capsys):
    again = ("    window_messages: 4", "    window_messages: 4\n    generation: 2")
    renamed = ("ring_id: 1", "ring_id: 5")
    acts = {2: _hang_up, 4: lambda path: _hang_up(path, again), 6: lambda path: _hang_up(path, renamed)}
    _switch_that_is_told(plane, monkeypatch, tmp_path, acts)
    told = [record for record in _told(capsys) if record["event"] in ("RingsInstalled", "ConfigRefused")]
    assert [(record["installed"], record["removed"], record["kept"]) for record in told] == [
        ([], [], [1]), ([1], [1], []), ([5], [1], []),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (("release: asap", "release: order"), "{file}: release: only rings may change while the switch runs"),
        (("ip: 10.77.0.3", "ip: 10.77.0.2"), ("scenario: switch s1: ring 1: two members have the same address; found "
                                             "['0a4d0002', '0a4d0002']; allowed: one each")),
        (("port: 1}", "port: 2}"), "{file}:3: rings: no such port; found 2; allowed: 0 to 1 (one per --port)"),
        (("rings:", "rungs:"), ("{file}:3: rungs: unknown key; allowed: name, macs, rings, release, gate, trace, "
                               "groups, flow_salt, spray, flood_ports, hairpin, steering, carrier, jobs, "
                               "memory, knobs, grid; did you mean 'rings'?")),
    ],
)  # fmt: skip
def test_a_file_that_cannot_be_used_is_told_and_the_switch_goes_on(plane, monkeypatch, tmp_path, capsys, change, text):
    _switch_that_is_told(plane, monkeypatch, tmp_path, {2: lambda path: _hang_up(path, change)})
    told = _told(capsys)
    (refused,) = [record for record in told if record["event"] == "ConfigRefused"]
    assert refused["problem"] == text.format(file=tmp_path / "s1.yaml")
    assert [record["ring_id"] for record in told if record["event"] == "SlotsAtEnd"] == [1]


def test_a_switch_without_rings_says_that_there_is_nothing_to_read_again(plane, capsys):
    signals = {2: signal.SIGHUP, 4: signal.SIGTERM}
    plane.wake = staticmethod(lambda machine, at: os.kill(os.getpid(), signals[at]) if at in signals else None)
    assert main(["switch", "--program", "forward", "--port", "a"]) == 0
    problems = [record["problem"] for record in _told(capsys) if record["event"] == "ConfigRefused"]
    assert problems == [
        (
            "only a switch with --program netreduce and --config can read its rings again, or its jobs one with "
            "switchml, "
            "atp, esa"
        )
    ]


def test_sigusr1_tells_the_statistics_so_far(plane, monkeypatch, tmp_path, capsys):
    acts = {2: lambda path: os.kill(os.getpid(), signal.SIGUSR1)}
    _switch_that_is_told(plane, monkeypatch, tmp_path, acts)
    told = [record["event"] for record in _told(capsys)]
    assert told == ["SwitchStarted", "SwitchStatistics", "SlotsAtEnd", "SwitchStatistics"]


def test_a_missing_interface_is_told(plane, capsys):
    assert main(["switch", "--program", "forward", "--port", "gone"]) == 3
    assert "lacks one of the interfaces gone in this network namespace (No such device)" in capsys.readouterr().err


def test_all_ports_that_are_not_there_are_told(plane, tmp_path, capsys):
    path = tmp_path / "s1.yaml"
    path.write_text(f"{SWITCH_TEXT}flood_ports: [4, 0, 4]\n", encoding="utf-8")
    assert main(["switch", "--program", "netreduce", "--port", "a", "--config", str(path)]) == 64
    assert [line.split(": ", 2)[2] for line in capsys.readouterr().err.splitlines()] == [
        f"{key}: no such port; found {port}; allowed: 0 to 0 (one per --port)"
        for key, port in (("macs", 1), ("rings", 1), ("flood_ports", 4))
    ]


@pytest.mark.parametrize(("outcome", "code"), [("finished", 0), ("failed", 1)])
def test_a_worker_ends_with_its_job(plane, tmp_path, capsys, outcome, code):
    (tmp_path / "h1.yaml").write_text(WORKER_TEXT, encoding="utf-8")
    plane.wake = staticmethod(lambda machine, at: setattr(machine, outcome, True) if at == 4 else None)
    words = ["worker", "--config", str(tmp_path / "h1.yaml"), "--port", "eth0", "--linger", "0ms"]
    assert main(words) == code
    assert plane.rounds == 4
    assert plane.made == (("eth0",), True)
    assert _facts(capsys) == [1, 2]


def test_the_time_of_a_worker_may_be_slower(plane, tmp_path):
    (tmp_path / "h1.yaml").write_text(WORKER_TEXT, encoding="utf-8")
    plane.wake = staticmethod(lambda machine, at: setattr(machine, "finished", True) if at == 4 else None)
    words = ["worker", "--config", str(tmp_path / "h1.yaml"), "--port", "eth0", "--linger", "0ms"]
    assert main([*words, "--dilation", "50"]) == 0
    assert plane.dilation == 50
    assert main([*words, "--dilation", "0"]) == 64


def test_a_worker_stopped_early_has_not_passed(plane, tmp_path):
    (tmp_path / "h1.yaml").write_text(WORKER_TEXT, encoding="utf-8")
    plane.wake = staticmethod(lambda machine, at: os.kill(os.getpid(), signal.SIGTERM) if at == 2 else None)
    assert main(["worker", "--config", str(tmp_path / "h1.yaml"), "--port", "eth0"]) == 1
