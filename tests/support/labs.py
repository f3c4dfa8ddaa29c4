"""Emulated labs for tests: made by a process of their own, since a lab forks and pytest has threads by then."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path

import pytest

from testbed.history.lab_events import LabStep
from testbed.lab.emulated.command import lab_down, lab_folder
from testbed.lab.emulated.shape import LabShape
from testbed.lab.inventory import parse_inventory
from testbed.lab.lab import Lab
from testbed.lab.model import Inventory

_TOP = Path(__file__).resolve().parents[2]
_UP = """
import json, sys
from testbed.lab.emulated import LabShape, lab_up
fields = json.loads(sys.argv[1])
lab_up(LabShape(**{key: tuple(map(tuple, value)) if key == "clock_offsets" else tuple(value)
                   if isinstance(value, list) else value for key, value in fields.items()}))
"""


def environment(**more: str) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(_TOP), **more}


def require_lab() -> None:
    if os.geteuid() != 0:
        pytest.skip("needs root: an emulated lab is made of namespaces")
    if not Path("/usr/sbin/sshd").exists():
        pytest.skip("needs sshd (apt-get install openssh-server)")


@contextmanager
def lab_of(shape: LabShape) -> Iterator[Path]:
    """Its inventory."""
    done = subprocess.run(
        [sys.executable, "-P", "-c", _UP, json.dumps(asdict(shape))],
        env=environment(), capture_output=True, text=True, timeout=90, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    try:
        yield lab_folder(shape.name) / "lab.yaml"
    finally:
        lab_down(shape.name)


def changed(inventory: Path, *changes: tuple[str, str]) -> Inventory:
    """The inventory with words replaced; each must be there."""
    text = inventory.read_text(encoding="utf-8")
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    return parse_inventory(text, "lab.yaml", inventory.parent)


def inventory_file(inventory: Path, folder: Path, *changes: tuple[str, str]) -> Path:
    """As `changed`, as a file of its own in `folder`, with its own known_hosts."""
    text = inventory.read_text(encoding="utf-8")
    known, here = folder / "known_hosts", inventory.parent
    known.write_text((here / "known_hosts").read_text(encoding="utf-8"), encoding="utf-8")
    for old, new in (
        *changes, ("known_hosts: known_hosts", f"known_hosts: {known}"),
        ("{file: id_ed25519}", f"{{file: {here}/id_ed25519}}"),
    ):  # fmt: skip
        assert old in text, old
        text = text.replace(old, new)
    text = text.replace("bitstream: card.bit", f"bitstream: {here}/card.bit")
    path = folder / "lab.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def sshds(lab: Path, host: str, uid: int = 0) -> list[int]:
    """Process numbers of the sshds of an emulated host that run as `uid`: 0 the one that listens (and its privileged
    children), the lab's user the sessions."""
    from testbed.lab.emulated.command import ask_keeper
    from testbed.lab.emulated.messages import ShowPids

    own = os.readlink(f"/proc/{ask_keeper(lab.parent, ShowPids())[host]}/ns/net")
    found = []
    for entry in Path("/proc").iterdir():
        with suppress(OSError):
            if (
                entry.name.isdigit()
                and (entry / "comm").read_text().startswith("sshd")
                and os.readlink(entry / "ns" / "net") == own
                and entry.stat().st_uid == uid
            ):
                found.append(int(entry.name))
    return sorted(found)


@contextmanager
def halted(lab: Path, host: str) -> Iterator[Callable[[], None]]:
    """The host takes connections and says nothing, until what this gives is called."""
    pids = sshds(lab, host)
    assert pids, host

    def go_on() -> None:
        for pid in pids:
            os.kill(pid, signal.SIGCONT)

    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield go_on
    finally:
        go_on()


@contextmanager
def bounded(seconds: int = 150) -> Iterator[None]:
    """What is inside ends by itself. The limit is for a hang, on the slowest machine, and no measure."""

    def hangs(*_: object) -> None:
        raise AssertionError(f"it still goes on after {seconds} s")

    before = signal.signal(signal.SIGALRM, hangs)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


class Seen:
    """Steps in the order in which they were told."""

    def __init__(self) -> None:
        self.steps: list[LabStep] = []

    def __call__(self, step: LabStep) -> None:
        self.steps.append(step)

    @property
    def hosts(self) -> list[str]:
        return [step.host for step in self.steps]

    def verdicts(self, step: str) -> dict[str, str]:
        return {found.host: found.verdict for found in self.steps if found.step == step}


@contextmanager
def using(inventory: Inventory, state: Path) -> Iterator[tuple[Lab, Seen]]:
    """As a user whose secret is in `state`."""
    seen = Seen()
    with Lab(inventory, seen, state=state) as lab:
        yield lab, seen
