"""What an agent does: leases, cards that are never used half programmed, processes that end with their lease."""

from __future__ import annotations

import hashlib
import os
import platform
import sys
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from testbed.lab.agent.answers import CodeAccount
from testbed.lab.agent.backends import process_argv
from testbed.lab.agent.cards import bitstream_path
from testbed.lab.agent.fake import FakeCard
from testbed.lab.agent.operations import Operations
from testbed.lab.agent.protocol import AgentRefused
from testbed.lab.agent.requests import PrepareProcess, read_request
from testbed.lab.agent.runs import checked_name
from workloads.errors import LabError, ScenarioError

_ANN, _BOB = "a" * 20, "b" * 20
_BITS = b"bits of a card"
_SHA = hashlib.sha256(_BITS).hexdigest()


class _Agent:
    """An agent's operations with one card, on a clock of the test."""

    def __init__(self, base: Path, card: FakeCard | None = None) -> None:
        self.card = card or FakeCard()
        self.now = 1000.0
        self.operations = Operations(base, "v1", {"fpga0": lambda: self.card}, self._argv, lambda: self.now)
        (base / "bitstreams" / f"{_SHA}.bit").write_bytes(_BITS)

    def _argv(self, request: PrepareProcess) -> list[str]:
        return [sys.executable, "-c", request.kind]

    def __call__(self, op: str, **fields: Any) -> Any:
        return self.operations.perform(read_request({"op": op, **fields}))

    def lease(self, resource: str, token: str = _ANN, owner: str = "ann@a") -> None:
        self("lease", resource=resource, owner=owner, token=token, seconds=60)


@pytest.fixture
def agent(tmp_path: Path) -> _Agent:
    return _Agent(tmp_path)


def _problem(act: Callable[[], Any]) -> str:
    with pytest.raises(AgentRefused) as told:
        act()
    return told.value.problem


def test_it_says_which_code_its_processes_run(agent: _Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INA_NATIVE", "0")
    told = agent("code", libraries=["rc_fast", "one of a later version"])
    python = platform.python_version()
    assert told == CodeAccount("v1", python, "python (switched off by INA_NATIVE=0)")


def test_it_says_what_its_host_is(agent: _Agent) -> None:
    told = agent("facts", devices=["lo", "none0"])
    assert (told.python, told.user) == (platform.python_version(), os.getuid())
    assert (told.interfaces["none0"], told.interfaces["lo"].mac) == (None, "00:00:00:00:00:00")


def test_a_card_wants_a_lease_of_its_own(agent: _Agent) -> None:
    agent.lease("host")
    assert _problem(lambda: agent("program", card="fpga0", sha256=_SHA, token=_ANN)) == (
        "card fpga0 is not leased; first: tb lab lease"
    )
    agent.lease("card fpga0")
    assert _problem(lambda: agent("program", card="fpga0", sha256=_SHA, token=_BOB)) == (
        "card fpga0 is leased by ann@a for another 60 s; wait, ask, or break it: tb lab release --break"
    )
    assert agent.card.loaded is None
    assert agent("program", card="fpga0", sha256=_SHA, token=_ANN).state == "programmed"
    assert agent("hello").cards[0].by == "ann@a"
    assert _ANN not in str(agent("hello"))


def test_leases_survive_the_agent(tmp_path: Path) -> None:
    _Agent(tmp_path).lease("card fpga0")
    again = _Agent(tmp_path)
    assert "ann@a" in _problem(lambda: again.lease("card fpga0", _BOB, "bob@b"))
    assert again("break", resource="card fpga0").owner == "ann@a"
    again.lease("card fpga0", _BOB, "bob@b")


def test_what_is_damaged_or_missing_never_reaches_the_card(agent: _Agent, tmp_path: Path) -> None:
    agent.lease("card fpga0")
    bitstream_path(tmp_path, _SHA).write_bytes(b"other bits")
    assert "damaged" in _problem(lambda: agent("program", card="fpga0", sha256=_SHA, token=_ANN))
    assert "not on this host" in _problem(lambda: agent("program", card="fpga0", sha256=_SHA, token=_ANN))
    assert "64 hexadecimal digits" in _problem(
        lambda: agent("program", card="fpga0", sha256="../../etc/passwd", token=_ANN)
    )
    assert agent("cards")[0].state == "unknown"


def test_a_card_that_runs_something_else_is_out_of_use(agent: _Agent) -> None:
    agent.lease("card fpga0")
    agent.card.runs_instead = "f" * 64
    assert _problem(lambda: agent("program", card="fpga0", sha256=_SHA, token=_ANN)) == (
        f"card fpga0 is out of use: it says that it runs {'f' * 12}, not {_SHA[:12]}; program it again, or reset it"
    )
    assert "is half programmed" in _problem(lambda: agent("card", card="fpga0", verb="start", token=_ANN))
    assert agent.card.acts == []
    agent.card.runs_instead = None
    agent("program", card="fpga0", sha256=_SHA, token=_ANN)
    agent("card", card="fpga0", verb="start", token=_ANN)
    assert agent.card.acts == [("start", {})]


def test_an_agent_that_died_while_programming_is_noticed(tmp_path: Path) -> None:
    class Death(BaseException):
        pass

    def die() -> None:
        raise Death

    agent = _Agent(tmp_path, FakeCard(die))
    agent.lease("card fpga0")
    with pytest.raises(Death):
        agent("program", card="fpga0", sha256=_SHA, token=_ANN)
    again = _Agent(tmp_path)
    assert again("cards")[0].state == "half-programmed"
    assert _problem(lambda: again("card", card="fpga0", verb="start", token=_ANN)) == (
        "card fpga0 is half programmed (its agent died while it was programmed); program it again: tb lab program"
    )
    assert again("program", card="fpga0", sha256=_SHA, token=_ANN).state == "programmed"
    assert _Agent(tmp_path)("cards")[0].state == "programmed"


def test_a_failed_load_leaves_a_card_that_a_reset_empties(tmp_path: Path) -> None:
    def fail() -> None:
        raise OSError(5, "the bus is gone")

    agent = _Agent(tmp_path, FakeCard(fail))
    agent.lease("card fpga0")
    problem = _problem(lambda: agent("program", card="fpga0", sha256=_SHA, token=_ANN))
    assert problem.startswith("card fpga0 is half programmed and out of use")
    assert "the bus is gone" in agent("cards")[0].problem
    assert agent("reset", card="fpga0", token=_ANN).state == "empty"


def test_a_card_that_does_what_it_should_not_is_unknown_until_it_is_programmed_again(tmp_path: Path) -> None:
    class Broken(FakeCard):
        error: Exception | None = None

        def act(self, verb: str, fields: Mapping[str, Any]) -> Any:
            if self.error is not None:
                raise self.error
            return super().act(verb, fields)

    card = Broken()
    agent = _Agent(tmp_path, card)
    agent.lease("card fpga0")
    agent("program", card="fpga0", sha256=_SHA, token=_ANN)
    card.error = ScenarioError("more ports than the card has")
    assert "more ports" in _problem(lambda: agent("card", card="fpga0", verb="configure", token=_ANN))
    assert agent("cards")[0].state == "programmed", "the user's mistake"
    card.error = LabError("fpga0", "the card does not answer")
    assert "the card does not answer" in _problem(lambda: agent("card", card="fpga0", verb="start", token=_ANN))
    found = agent("cards")[0]
    assert (found.state, "the card does not answer" in found.problem) == ("unknown", True)
    assert _Agent(tmp_path)("cards")[0].state == "unknown"
    card.error = None
    assert agent("program", card="fpga0", sha256=_SHA, token=_ANN).state == "programmed"
    assert agent("cards")[0].problem == ""


def test_a_busy_card_says_with_what(tmp_path: Path) -> None:
    inside, go_on = threading.Event(), threading.Event()

    def wait() -> None:
        inside.set()
        assert go_on.wait(20)

    agent = _Agent(tmp_path, FakeCard(wait))
    agent.lease("card fpga0")
    thread = threading.Thread(target=lambda: agent("program", card="fpga0", sha256=_SHA, token=_ANN))
    thread.start()
    assert inside.wait(20)
    status = agent("cards")[0]
    assert (status.state, status.busy) == ("programming", f"programming {_SHA[:12]} for ann@a")
    assert "is busy" in _problem(lambda: agent("reset", card="fpga0", token=_ANN))
    assert "is busy: fpga0" in _problem(lambda: agent("quit"))
    go_on.set()
    thread.join()
    assert agent("cards")[0].state == "programmed"


_PROGRAM = "import sys; print('ready', flush=True); print(sys.stdin.readline(), end='', flush=True); input()"


def _until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_processes_wait_at_the_barrier_and_end_with_their_lease(agent: _Agent, tmp_path: Path) -> None:
    prepare = {"run": "r1", "config": "{}", "device": "d0", "kind": _PROGRAM}
    assert "is not leased" in _problem(lambda: agent("prepare", name="h1", token=_ANN, **prepare))
    agent.lease("host")
    agent("prepare", name="h1", token=_ANN, **prepare)
    assert "a process h1 already" in _problem(lambda: agent("prepare", name="h1", token=_ANN, **prepare))
    _until(lambda: agent("ready", run="r1") == {"h1": True})
    agent("go", run="r1", token=_ANN)
    output = tmp_path / "runs" / "r1" / "h1.jsonl"
    _until(lambda: output.read_text() == "ready\ngo\n")
    assert agent("status", run="r1")["h1"].exit is None
    assert agent("hello").running == ("r1/h1",)
    agent.now += 60
    agent.operations.sweep()
    assert agent("hello").running == ()
    assert {entry.name for entry in agent("files", run="r1")} == {"h1.json", "h1.jsonl", "h1.log"}
    agent.lease("host")
    agent("remove", run="r1", token=_ANN)
    assert "no run r1" in _problem(lambda: agent("files", run="r1"))


def test_a_process_that_fails_says_why(agent: _Agent) -> None:
    agent.lease("host")
    agent("prepare", run="r1", name="h1", token=_ANN, device="d0", config="", kind="raise SystemExit('no such thing')")
    _until(lambda: agent("status", run="r1")["h1"].exit == 1)
    assert agent("status", run="r1")["h1"].errors == "no such thing\n"
    assert agent("stop", run="r1", token=_ANN) == {"h1": 1}


def test_workers_that_finished_or_failed_are_noticed_while_they_run(agent: _Agent, tmp_path: Path) -> None:
    agent.lease("host")
    agent("prepare", run="r1", name="h1", token=_ANN, device="d0", config="", kind="input()")
    output = tmp_path / "runs" / "r1" / "h1.jsonl"
    line = '{"t":1,"event":"%s"}\n'
    states = []
    for name in ("Other", "WorkerFinished", "Other", "WorkerFellBack", "WorkerFailed"):
        for part in (line[:15], line[15:] % name):
            with output.open("a") as file:
                file.write(part)
            found = agent("status", run="r1")["h1"]
        states.append((found.state, found.exit))
    assert states == [("", None), ("finished", None), ("finished", None), ("", None), ("failed", None)]
    agent("stop", run="r1", token=_ANN)


@pytest.mark.parametrize("name", ["", "..", "a/b", "a..b", ".hidden", "x" * 101, "a\n", None, "-rf/"])
def test_names_lead_nowhere_else(name: str) -> None:
    with pytest.raises(AgentRefused):
        checked_name(name)


def test_clients_choose_no_commands_of_their_own() -> None:
    worker = PrepareProcess("r1", "h1", "worker", "d0", "{}", _ANN)
    assert process_argv(worker)[-3:] == ["--port", "d0", "--config"]
    assert "--dilation" not in process_argv(worker)
    assert process_argv(replace(worker, dilation=50))[-5:] == ["--dilation", "50", "--port", "d0", "--config"]
    chosen = process_argv(replace(worker, capture=True))
    assert chosen[chosen.index("--capture") + 1] == "h1.pcapng"
    for changes in ({"kind": "sh"}, {"device": "--help"}, {"capture": True, "name": "../h1"}):
        with pytest.raises(AgentRefused):
            process_argv(replace(worker, **changes))  # type: ignore[arg-type]


def test_what_it_does_not_know_is_refused(agent: _Agent) -> None:
    assert _problem(lambda: agent("exec")) == "this agent does not know 'exec'"
