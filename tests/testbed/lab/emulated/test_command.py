"""An emulated lab comes up, goes down, and leaves nothing: also when its keeper is killed."""

from __future__ import annotations

import os
import signal
import socket
import time
from pathlib import Path
from typing import Any

import pytest

from testbed.kernel.cleanup import clean
from testbed.kernel.ledger import ProcessEntry, read_ledger
from testbed.kernel.processes import ProcessId, is_alive, send_signal
from testbed.lab.agent.protocol import decode
from testbed.lab.emulated.command import ask_keeper, emulated_inventory, lab_down, lab_folder, lab_up
from testbed.lab.emulated.keeper import KEEPER_SOCKET
from testbed.lab.emulated.messages import CycleHost, ShowPids
from testbed.lab.emulated.shape import LabShape, inventory_text
from testbed.lab.inventory import parse_inventory
from tests.support.labs import lab_of, require_lab
from workloads.errors import LabError, ScenarioError


def _processes(folder: Path) -> list[ProcessId]:
    owner, entries = read_ledger(folder)
    assert owner is not None
    return [owner.process, *(entry.process for entry in entries if isinstance(entry, ProcessEntry))]


def _said(folder: Path, line: bytes) -> dict[str, Any]:
    """What the keeper answers to this line."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(30)
        connection.connect(str(folder / KEEPER_SOCKET))
        connection.sendall(line)
        return decode(connection.recv(65_536))


@pytest.mark.root
def test_nothing_is_left_of_it() -> None:
    require_lab()
    shape = LabShape(f"n{os.getpid()}", hosts=2, card=False)
    folder = lab_folder(shape.name)
    with lab_of(shape) as inventory:
        assert emulated_inventory(shape.name) == inventory
        processes = _processes(folder)
        assert len(processes) == 1 + 2 * 3
        assert all(is_alive(process) for process in processes)
        assert inventory.stat().st_mode & 0o077 == 0
        assert (folder / "id_ed25519").stat().st_mode & 0o777 == 0o600
        with pytest.raises(LabError, match=r"this lab is up: .*; first: tb lab down"):
            lab_up(shape)
        with pytest.raises(LabError, match="not understood: there is no host 'h9'; there are: h1, h2"):
            ask_keeper(folder, CycleHost("h9"))
        for line in (b"rubbish", b'{"op": "explode"}', b'{"op": "cycle"}'):
            assert _said(folder, line)["problem"].startswith("not understood: "), line
        assert list(ask_keeper(folder, ShowPids())) == ["h1", "h2"], "it goes on"
    assert not folder.exists()
    assert not any(is_alive(process) for process in processes)
    assert emulated_inventory(shape.name) is None


@pytest.mark.root
def test_files_of_others_stay_and_are_named() -> None:
    require_lab()
    shape = LabShape(f"f{os.getpid()}", hosts=2, card=False)
    folder = lab_folder(shape.name)
    lab_up(shape)
    processes = _processes(folder)
    note = folder / "notes.txt"
    note.write_text("mine", encoding="utf-8")
    for _ in range(2):
        with pytest.raises(LabError, match=rf"it is down, but {folder} stays, with what is not its own: notes.txt"):
            lab_down(shape.name)
        assert not any(is_alive(process) for process in processes)
    note.unlink()
    folder.rmdir()


@pytest.mark.root
def test_hosts_end_with_their_keeper() -> None:
    require_lab()
    shape = LabShape(f"k{os.getpid()}", hosts=2, card=False)
    folder = lab_folder(shape.name)
    with pytest.raises(LabError, match="no such lab is up"), lab_of(shape):  # noqa: PT012
        processes = _processes(folder)
        with pytest.raises(ScenarioError, match="no such run"):
            clean(folder.name + "x")
        assert send_signal(processes[0], signal.SIGKILL)
        deadline = time.monotonic() + 20
        while any(is_alive(process) for process in processes):
            assert time.monotonic() < deadline
            time.sleep(0.02)
        assert emulated_inventory(shape.name) is None
        assert folder.exists()
        assert f"folder {folder}" in lab_down(shape.name)
        assert not folder.exists()


@pytest.mark.parametrize("shape", [LabShape(), LabShape(hosts=32), LabShape(card=False), LabShape(tunnels=True)])
def test_what_it_writes_is_an_inventory(shape: LabShape) -> None:
    text = inventory_text(shape, "/proc/1/ns/net", ["/usr/bin/python3", "/x y/power.py", "/run/l"])
    inventory = parse_inventory(text, "lab.yaml", Path("/run/l"))
    assert tuple(inventory.hosts) == shape.all_hosts
    assert len({host.address for host in inventory.hosts.values()}) == len(inventory.hosts)
    for card in inventory.cards.values():
        assert len(card.ports) == (0 if shape.tunnels else shape.hosts)
        assert (card.tunnel is not None) == shape.tunnels
