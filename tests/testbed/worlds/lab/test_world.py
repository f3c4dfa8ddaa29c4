"""Whole runs on an emulated lab: the same sums as in virtual time, and what is left when something breaks."""

from __future__ import annotations

import os
import platform
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from testbed.history.lab_events import LabStep
from testbed.lab.drivers import HostDriver, LabCardDriver
from testbed.lab.emulated.card import card_command
from testbed.lab.emulated.command import ask_keeper
from testbed.lab.emulated.host import UID
from testbed.lab.emulated.messages import CycleHost
from testbed.lab.emulated.shape import LabShape, with_faults
from testbed.lab.inventory import load_inventory
from testbed.lab.package import build_package
from testbed.lab.ssh import open_shell
from testbed.report.summary import summary_lines
from testbed.runs.run import RunResult, run_scenario
from testbed.scenario import parse_scenario
from testbed.scenario.model import Scenario
from testbed.worlds.lab import LabWorld
from tests.support.labs import bounded, changed, environment, sshds, using
from tests.support.passing import assert_passes
from tests.support.selection import some_at_once
from workloads.errors import LabError
from workloads.events import CollectiveCompleted

pytestmark = pytest.mark.root
_TEXT = """\
name: small
world: lab
topology: {kind: rack, hosts: 2}
transport: {timeout: 14, retry_count: 3}
job: {size: 40000, iterations: 2, message_packets: 10}
time_limit: 20s
"""


def _scenario(world: str = "lab", seed: int = 3) -> Scenario:
    return parse_scenario(_TEXT, "small.yaml", (), seed, world)


def _sums(result: RunResult) -> dict[tuple[str, int], str]:
    return {
        (record.node, record.event.iteration): record.event.sha256
        for record in result.history
        if isinstance(record.event, CollectiveCompleted)
    }


def _run(inventory: Path, folder: Path, state: Path, told: list[LabStep] | None = None) -> RunResult:
    tell = (lambda _: None) if told is None else told.append
    world = LabWorld(load_inventory(inventory), tell, state=state)
    return run_scenario(_scenario(), folder / "run", world=world)


@pytest.fixture
def faulty(run_lab: Path) -> Iterator[Path]:
    """The lab, whose card is a sound one again afterwards."""
    yield run_lab
    ask_keeper(run_lab.parent, CycleHost("f1", ""))


def _break_card(lab: Path, fault: str) -> None:
    ask_keeper(lab.parent, CycleHost("f1", fault))


def _nothing_is_left(lab: Path, state: Path, hosts: tuple[str, ...] = ("h1", "h2", "f1")) -> dict[str, str]:
    """The states of the cards, by name."""
    inventory = load_inventory(lab)
    cards = {}
    with using(inventory, state) as (client, _):
        for host in inventory.select(hosts):
            found = client.agent(host).hello()
            assert (found.leases, found.running, found.attached) == ((), (), ()), host.name
            cards |= {card.card: card.state for card in found.cards}
            said = client.shell(host).run(["pgrep", "-f", "testbed [w]orker"], check=False)
            assert said.stdout == b"", host.name
    return cards


def _take_back(lab: Path, state: Path, name: str) -> None:
    """Of a host that nobody could ask, the lease is still ours, and outlived its agent."""
    inventory = load_inventory(lab)
    host = inventory.hosts[name]
    with using(inventory, state) as (client, _):
        HostDriver(client, [host]).deploy()
        assert HostDriver(client, [host]).held() == frozenset(), "it was for that run only"
        assert [lease.purpose for lease in HostDriver(client, [host]).status()[name].leases] == ["run"]
        HostDriver(client, [host]).release()


def test_a_run_passes_with_the_sums_of_virtual_time(run_lab: Path, tmp_path: Path, state: Path) -> None:
    seen: list[LabStep] = []
    result = _run(run_lab, tmp_path, state, seen)
    assert_passes(result.document)
    names = {check["name"]: check["verdict"] for check in result.document["checks"]}
    for name in ("bit_exact", "exactly_once", "liveness", "slots_private", "transparency", "no_leftovers"):
        assert names[name] == "pass"
    simulated = run_scenario(_scenario("simulated"), tmp_path / "simulated")
    assert _sums(result) == _sums(simulated)
    assert len(_sums(result)) == 4
    told = {record.event.step for record in result.history if isinstance(record.event, LabStep)}
    assert told == {step.step for step in seen}
    wanted = {"check", "deploy", "lease", "program", "attach", "reset", "configure", "start", "prepare", "go", "stop"}
    assert told >= wanted | {"collect", "trace", "release"}
    steps = {**HostDriver.steps, **LabCardDriver.steps}
    for at, step in enumerate(seen):
        before = {earlier.step for earlier in seen[:at] if earlier.verdict != "failed"}
        assert set(steps[step.step].needs) <= before, f"{step.step} on {step.host}"
    ran = result.document["environment"]
    told = (ran["code"], ran["host_python"])
    assert told == ("python (switched off by INA_NATIVE=0)", platform.python_version()), "as emulated hosts are set up"
    assert ran["host_version"] == build_package().version
    assert _nothing_is_left(run_lab, state) == {"fpga0": "programmed"}
    token = next(iter(state.glob("lab-secret"))).read_bytes().hex()
    assert token not in (result.run_dir / "history.jsonl").read_text()


_SILENT = ("    trace: /run/ina-card/fpga0\n", "")
_SEEN_PARTLY = ["exactly_once", "liveness", "slots_private", "transparency"]


def test_a_card_without_a_trace_is_judged_by_counters_and_hosts(run_lab: Path, tmp_path: Path, state: Path) -> None:
    inventory = changed(run_lab, _SILENT)
    result = run_scenario(_scenario(), tmp_path / "run", pcap=True, world=LabWorld(inventory, state=state))
    assert_passes(result.document)
    checks = {item["name"]: item for item in result.document["checks"]}
    assert {checks[name]["verdict"] for name in _SEEN_PARTLY} == {"pass"}
    assert "totals of the card's counters" in checks["exactly_once"]["detail"]
    assert " frames at 2 hosts: " in checks["transparency"]["detail"]
    assert result.document["skipped"] == []
    assert [item["name"] for item in result.document["not_seen"]] == _SEEN_PARTLY
    assert sorted(path.name for path in (result.run_dir / "pcap").iterdir()) == ["h1-d0.pcapng", "h2-d0.pcapng"]
    verdict = next(line for line in summary_lines(result.document) if line.label.startswith("Verdict"))
    assert verdict.text == (
        "every result is exact, bit for bit, and every check passed; this world shows only a part of: "
        "exactly_once, liveness, slots_private, transparency"
    )
    _nothing_is_left(run_lab, state)


def test_a_card_without_a_trace_whose_psns_are_wrong(faulty: Path, tmp_path: Path, state: Path) -> None:
    """The sums are right, since hosts recover; the captures at their interfaces show it."""
    _break_card(faulty, "wrong-psn:30")
    world = LabWorld(changed(faulty, _SILENT), state=state)
    result = run_scenario(_scenario(), tmp_path / "run", world=world)
    checks = {item["name"]: item["verdict"] for item in result.document["checks"]}
    assert (checks["transparency"], checks["bit_exact"], result.exit_code) == ("fail", "pass", 1)
    _nothing_is_left(faulty, state)


def test_a_card_with_one_wrong_bit(faulty: Path, tmp_path: Path, state: Path) -> None:
    _break_card(faulty, "wrong-sum:30")
    result = _run(faulty, tmp_path, state)
    checks = {item["name"]: item["verdict"] for item in result.document["checks"]}
    assert (checks["bit_exact"], checks["liveness"], result.exit_code) == ("fail", "pass", 1)
    _nothing_is_left(faulty, state)


_FAULTS = {
    "wrong-bitstream": ("another bitstream was loaded than the one that was sent", {"half-programmed"}),
    "programming-fails:1": ("found 10 LOAD_BROKEN", {"half-programmed"}),
    "agent-dies:10": ("the card does not answer", {"half-programmed", "unknown"}),
    "garbage-reads:4": ("register", {"half-programmed", "unknown"}),
}
"""by fault: what is told, and what the agent knows of the card then (`unknown`: it was asked before it was
programmed)"""


@pytest.mark.parametrize("fault", some_at_once(_FAULTS, quick=["agent-dies:10"]))
def test_a_card_that_is_broken(faulty: Path, tmp_path: Path, state: Path, fault: str) -> None:
    problem, states = _FAULTS[fault]
    _break_card(faulty, fault)
    told_steps: list[LabStep] = []
    with bounded(), pytest.raises(LabError, match=problem) as told:
        _run(faulty, tmp_path, state, told_steps)
    assert (told.value.host, told.value.exit_code) == ("f1", 75)
    assert "fpga0" in str(told.value)
    assert not {step.step for step in told_steps} & {"configure", "prepare", "go"}
    assert _nothing_is_left(faulty, state)["fpga0"] in states


@pytest.mark.minutes
def test_a_card_that_stops_passing_frames(faulty: Path, tmp_path: Path, state: Path) -> None:
    _break_card(faulty, "stops-passing:20")
    with bounded():
        result = _run(faulty, tmp_path, state)
    assert result.exit_code == 1
    names = {check["name"]: check["verdict"] for check in result.document["checks"]}
    assert names["liveness"] == "fail"
    assert _nothing_is_left(faulty, state) == {"fpga0": "programmed"}


@pytest.mark.minutes
def test_a_host_that_goes_away_during_a_run(run_lab: Path, tmp_path: Path, state: Path) -> None:
    seen: list[LabStep] = []

    def tell(step: LabStep) -> None:
        seen.append(step)
        if step.step == "go" and step.host == "h2":
            threading.Thread(target=ask_keeper, args=(run_lab.parent, CycleHost("h2"))).start()

    world = LabWorld(load_inventory(run_lab), tell, state=state)
    with bounded(), pytest.raises(LabError) as told:
        run_scenario(_scenario(), tmp_path / "run", world=world)
    assert told.value.host == "h2"
    assert told.value.exit_code == 75
    assert {step.host for step in seen if step.step == "release" and step.verdict == "done"} == {"h1", "f1"}
    assert _nothing_is_left(run_lab, state, ("h1", "f1")) == {"fpga0": "programmed"}
    _take_back(run_lab, state, "h2")


@pytest.mark.programs
def test_an_agent_that_dies_during_a_run(run_lab: Path, tmp_path: Path, state: Path) -> None:
    """Its worker notices that nobody holds its other end any more."""
    seen: list[LabStep] = []
    inventory = load_inventory(run_lab)

    def tell(step: LabStep) -> None:
        seen.append(step)
        if step.step == "prepare" and step.host == "h1":
            with open_shell(inventory, inventory.hosts["h1"]) as shell:
                shell.run(["pkill", "-9", "-f", "testbed.lab.[a]gent serve"])

    with bounded(), pytest.raises(LabError) as told:
        run_scenario(_scenario(), tmp_path / "run", world=LabWorld(inventory, tell, state=state))
    assert (told.value.host, told.value.exit_code) == ("h1", 75)
    assert _nothing_is_left(run_lab, state, ("h2", "f1")) == {"fpga0": "programmed"}
    with open_shell(inventory, inventory.hosts["h1"]) as shell:
        deadline = time.monotonic() + 20
        while shell.run(["pgrep", "-f", "testbed [w]orker"], check=False).stdout:
            assert time.monotonic() < deadline
    _take_back(run_lab, state, "h1")


def _started(lab: Path, folder: Path, state: Path, until: str) -> subprocess.Popen[bytes]:
    """`tb run` of a job that takes long, as a process, which has just told this step."""
    (folder / "long.yaml").write_text(_TEXT.replace("iterations: 2", "iterations: 5000").replace("20s", "200s"))
    argv = ["run", str(folder / "long.yaml"), "--inventory", str(lab), "--out", str(folder / "long"), "--no-color"]
    user = folder / "user"
    user.mkdir()
    (user / "ina-testbed").symlink_to(state)
    run = subprocess.Popen(
        [sys.executable, "-P", "-u", "-m", "testbed", *argv],
        env=environment(XDG_STATE_HOME=str(user)), stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        start_new_session=True,
    )  # fmt: skip
    assert run.stdout is not None
    seen = []
    for line in run.stdout:
        seen.append(line.decode())
        if f" {until} " in seen[-1]:
            return run
    raise AssertionError("".join(seen))


def test_ctrl_c(run_lab: Path, tmp_path: Path, state: Path) -> None:
    with bounded():
        run = _started(run_lab, tmp_path, state, "go")
        run.send_signal(signal.SIGINT)
        said = run.communicate()[0].decode()
    assert run.returncode == 130, said
    assert [step for step in ("stop", "release") if f" {step} " not in said] == []
    assert _nothing_is_left(run_lab, state) == {"fpga0": "programmed"}
    with using(load_inventory(run_lab), state) as (client, _):
        hosts = client.inventory.select(["f1"])
        HostDriver(client, hosts).lease(seconds=60)
        found = LabCardDriver(client, "fpga0").state()
        HostDriver(client, hosts).release()
    assert found.status == "PROGRAMMED|CONFIGURED", "it passes no frame"


@pytest.mark.minutes
def test_a_run_that_was_killed_is_no_obstacle(run_lab: Path, tmp_path: Path, state: Path) -> None:
    """kill -9 in the middle of a run leaves leases and workers; the next run of the same user ends both."""
    with bounded():
        run = _started(run_lab, tmp_path, state, "go")
        run.kill()
        run.communicate()
        told: list[LabStep] = []
        assert _run(run_lab, tmp_path, state, told).document["verdict"] == "pass"
    leases = {step.host: step.detail for step in told if step.step == "lease"}
    for host in ("h1", "h2"):
        assert re.search(rf"; ended small-1-[0-9a-f]{{8}}/{host}, guard of d0, which was left there$", leases[host])
    assert _nothing_is_left(run_lab, state) == {"fpga0": "programmed"}


@pytest.mark.minutes
def test_ssh_connections_that_drop_during_a_run(run_lab: Path, tmp_path: Path, state: Path) -> None:
    """The host goes on, and its worker; a new connection finds both."""
    killed: list[int] = []

    def tell(step: LabStep) -> None:
        if step.step in ("prepare", "go") and step.host == "h2":
            for pid in sshds(run_lab, "h2", UID):
                killed.append(pid)
                os.kill(pid, signal.SIGKILL)

    world = LabWorld(load_inventory(run_lab), tell, state=state)
    with bounded():
        result = run_scenario(_scenario(), tmp_path / "run", world=world)
    assert len(killed) == 2
    assert (result.document["verdict"], len(_sums(result))) == ("pass", 4)
    assert _nothing_is_left(run_lab, state) == {"fpga0": "programmed"}


def test_a_lease_from_before_stays(run_lab: Path, tmp_path: Path, state: Path) -> None:
    inventory = load_inventory(run_lab)
    with using(inventory, state) as (client, _):
        HostDriver(client, inventory.select()).deploy()
        HostDriver(client, inventory.select(["h1", "f1"])).lease(seconds=3000)
    assert _run(run_lab, tmp_path, state).document["verdict"] == "pass"
    with using(inventory, state) as (client, _):
        found = HostDriver(client, inventory.select()).status()
        assert {host: len(hello.leases) for host, hello in found.items()} == {"h1": 1, "h2": 0, "f1": 2}
        assert all(hello.running == hello.attached == () for hello in found.values())
        HostDriver(client, inventory.select()).release()


def test_faults_of_the_command_line_are_where_the_holder_changes_them() -> None:
    sound, broken = LabShape(hosts=2), LabShape(hosts=2, card_faults=("agent-dies:10",))
    assert with_faults(card_command(sound), "agent-dies:10") == card_command(broken)
    assert with_faults(card_command(broken), "none") == card_command(sound)
