"""Sixteen hosts at once: one that hangs delays the result of no other."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from testbed.history.lab_events import LabStep
from testbed.lab.drivers import HostDriver
from testbed.lab.emulated.shape import LabShape
from testbed.lab.inventory import load_inventory
from testbed.lab.lab import Lab
from tests.support.labs import bounded, changed, halted, lab_of, require_lab


@pytest.mark.root
def test_sixteen_hosts_are_checked_at_once(tmp_path: Path) -> None:
    """h7 takes the connection and says nothing. It goes on only when the results of all fifteen others are there: a
    step that asks one host after the other, or that tells results when all are in, waits for h7 until its limit, and
    fails."""
    require_lab()
    with lab_of(LabShape(f"m{os.getpid()}", hosts=16, card=False)) as path, bounded():
        inventory = changed(path, ("connect_timeout: 20s", "connect_timeout: 90s"))
        assert len(load_inventory(path).hosts) == 16
        with halted(path, "h7") as go_on:
            told: list[LabStep] = []

            def tell(step: LabStep) -> None:
                told.append(step)
                if len(told) == 15:
                    go_on()

            with Lab(inventory, tell, state=tmp_path) as lab:
                facts = HostDriver(lab, inventory.select()).check()
    assert len(facts) == 16
    assert told[-1].host == "h7"
    assert {step.host for step in told} == set(inventory.hosts)
    assert {step.verdict for step in told} == {"unchanged"}
