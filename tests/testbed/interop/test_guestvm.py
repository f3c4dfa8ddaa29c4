"""The life of a guest process, with a shell in place of QEMU."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from testbed.interop.guestvm import GuestMachine
from testbed.interop.qemu import QemuWire
from testbed.kernel.ledger import Ledger, PathEntry, ProcessEntry
from testbed.kernel.processes import ProcessId, identify, is_alive
from workloads.errors import HostCapabilityError, InternalError


@pytest.fixture
def start(tmp_path, monkeypatch):
    monkeypatch.setenv("INA_STATE_DIR", str(tmp_path / "state"))
    ledger = Ledger.create("run", tmp_path)
    machines = []

    def make(*command: str) -> tuple[GuestMachine, Ledger]:
        out = tmp_path / "out"
        out.mkdir(exist_ok=True)
        wires = [QemuWire("02:00:00:00:00:01", ledger.folder / "0.vm", ledger.folder / "0.sw")]
        machines.append(GuestMachine(command, wires, ledger, tmp_path, out))
        return machines[-1], ledger

    yield make
    for machine in machines:
        machine.end(0.0)
    ledger.close()


def test_the_ledger_knows_the_process_and_its_sockets(start):
    machine, ledger = start("sleep", "60")
    processes = [entry for entry in ledger.entries() if isinstance(entry, ProcessEntry)]
    assert [(entry.pid, entry.role) for entry in processes] == [(machine.pid, "guest")]
    assert identify(machine.pid) == processes[0].process
    assert [entry.name for entry in ledger.entries() if isinstance(entry, PathEntry)] == ["0.vm", "0.sw"]


@pytest.mark.parametrize("command", [("sleep", "60"), ("sh", "-c", "trap '' TERM; while :; do sleep 0.05; done")])
def test_it_ends_when_told_also_when_it_does_not_listen(start, command):
    machine, _ = start(*command)
    process = identify(machine.pid)
    assert machine.running
    machine.end(0.0)
    assert not machine.running
    assert isinstance(process, ProcessId)
    assert not is_alive(process)
    machine.end(0.0)


def test_an_early_end_is_told_with_the_ends_of_the_logs(start, tmp_path):
    machine, _ = start("sh", "-c", "echo no such machine >&2; exit 3")
    (tmp_path / "console.log").write_text("".join(f"line {n}\n" for n in range(30)))
    with pytest.raises(InternalError) as caught:
        machine.wait_for(lambda: False, 20, "the guest's runner")
    text = str(caught.value)
    assert text.startswith("the guest ended before the guest's runner\nQEMU exit 3, script status None\n")
    assert "qemu.log: no such machine" in text
    assert "console.log: line 29" in text
    assert "console.log: line 14\n" not in text


def test_a_guest_that_says_nothing_is_given_up(start):
    machine, _ = start("sleep", "60")
    with pytest.raises(InternalError, match=r"no sign of its devices within 0\.05 s"):
        machine.wait_for(lambda: False, 0.05, "its devices")


def test_what_came_with_its_last_breath_counts(start, tmp_path):
    machine, _ = start("true")
    deadline = time.monotonic() + 20
    while machine.running and time.monotonic() < deadline:
        time.sleep(0.01)
    machine.wait_for(lambda: not machine.running, 1, "its end")


def test_the_status_is_that_of_the_guests_script(start, tmp_path):
    machine, _ = start("sleep", "60")
    assert machine.status is None
    (tmp_path / "out" / "status").write_text("0\n")
    assert machine.status == 0


def test_without_qemu_the_remedy_is_named(start):
    with pytest.raises(HostCapabilityError) as caught:
        start("no-such-qemu-anywhere")
    assert str(caught.value) == "this machine lacks QEMU for x86; install it: sudo apt-get install qemu-system-x86"


def test_it_dies_with_its_owner(tmp_path):
    """Also when the owner is killed: nobody else would end it."""
    told = tmp_path / "pid"
    child = os.fork()
    if child == 0:
        os.environ["INA_STATE_DIR"] = str(tmp_path / "state")
        machine = GuestMachine(["sleep", "60"], [], Ledger.create("run", tmp_path), tmp_path, tmp_path)
        Path(f"{told}.new").write_text(str(machine.pid))
        Path(f"{told}.new").rename(told)
        time.sleep(60)
        os._exit(0)
    deadline = time.monotonic() + 20
    while not told.exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    process = identify(int(told.read_text()))
    assert process is not None
    os.kill(child, 9)
    os.waitpid(child, 0)
    while is_alive(process) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not is_alive(process)
