"""Emulated labs for tests: made by a process of their own, since a lab forks and pytest has threads by then."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

import pytest

from testbed.lab.emulated.command import lab_down, lab_folder
from testbed.lab.emulated.shape import LabShape
from testbed.lab.events import LabStep
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
