"""Which events histories hold."""

from __future__ import annotations

import importlib
import pkgutil

import switch_nodes
import testbed.faults
import testbed.kernel
import testbed.steering
import testbed.worlds
import workloads
from testbed.history.eventkinds import event_kinds
from workloads.machine import Event


def test_every_event_of_machines_worlds_and_faults_is_known() -> None:
    for package in (workloads, switch_nodes, testbed.worlds, testbed.faults, testbed.steering):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if "events" in module.name or "blocks" in module.name:
                importlib.import_module(module.name)
    ours = ("workloads.", "switch_nodes.", "testbed.worlds.", "testbed.faults.", "testbed.steering.")
    defined = {kind.__name__ for kind in Event.__subclasses__() if kind.__module__.startswith(ours)}
    assert len(defined) > 40
    # A user's program file, and what other tests make, are elsewhere.
    assert defined <= event_kinds().keys()
