"""A scenario's network, held open for a user: links as asked, every switch running its program, no worker."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from testbed.doctor import require
from testbed.history import Record
from testbed.kernel.interruption import Interruption
from testbed.kernel.processes import descendants, end_processes
from testbed.plan import Plan, make_plan
from testbed.scenario.model import Scenario
from testbed.scenario.transports import udp_ports_of
from testbed.worlds.emulated.dilation import clock_of, is_exact
from testbed.worlds.emulated.fleet import Fleet, FleetPhase
from testbed.worlds.emulated.ledgers import own_ledger
from testbed.worlds.emulated.node import NodeTask
from testbed.worlds.emulated.preload import preload
from testbed.worlds.emulated.programs import build_node
from testbed.worlds.emulated.refusals import refuse
from testbed.worlds.emulated.world import NEEDS, READY_TIMEOUT_S, START_LEAD_NS
from topologies import Role
from workloads.errors import InternalError, ScenarioError

__all__ = ["Session", "open_session", "session_plan"]


class Session:
    """What is up. `mininet`: the Mininet object, for its CLI. Call `attend` now and then: it hears what the switches
    say."""

    def __init__(self, mininet: Any, attend: Callable[[], None]) -> None:
        self.mininet, self.attend = mininet, attend


def session_plan(scenario: Scenario) -> Plan:
    """As in a run, but every switch is a node of ours, so that its ports carry out the faults of packets."""
    soft = dataclasses.replace(scenario.switch, commodity="soft")
    return make_plan(dataclasses.replace(scenario, capture=False, switch=soft))


@contextmanager
def open_session(scenario: Scenario, folder: Path, interruption: Interruption) -> Iterator[Session]:
    """Open a network for a user. Nothing is captured or kept. `folder`: for logs of nodes.

    Faults of packets apply as in a run. Faults with a time of their own (kill, pause, rate) do not.

    Raises as `EmulatedWorld.run` does, also InternalError when something is left afterwards.
    """
    if scenario.pfc is not None:
        raise ScenarioError("programs on hosts do not obey PFC", key="pfc", allowed="no pfc; or `tb run`")
    plan = session_plan(scenario)
    refuse(plan)
    require(NEEDS)
    left: list[str] = []
    with own_ledger(folder, left.extend) as ledger:
        from testbed.worlds.emulated.network import build

        network = build(
            scenario.topology, ledger, interruption.check, clock=clock_of(scenario), exact=is_exact(plan),
            ports=udp_ports_of(scenario),
        )  # fmt: skip
        try:
            fleet = Fleet(ledger, build_node, interruption, tell=lambda event: None, on_record=_forget)
            try:
                with preload():
                    for node in scenario.topology.switches:
                        task = NodeTask(plan, node, network.interfaces(node.name), folder)
                        fleet.launch(task, network.pid(node.name))
                fleet.await_all(FleetPhase.READY, READY_TIMEOUT_S)
                fleet.start(time.monotonic_ns() + START_LEAD_NS)
                yield Session(network.mininet, lambda: fleet.pump(0))
                fleet.stop(Role.SWITCH)
            finally:
                fleet.close()
        finally:
            # What a person left running on hosts: a shell that ends takes it along only where nobody ignores SIGHUP.
            end_processes(below for host in scenario.topology.hosts for below in descendants(network.pid(host.name)))
            network.stop()
    if left:
        raise InternalError(f"left behind: {', '.join(left)}")


def _forget(record: Record) -> None:
    """Discard a record: a session has no history."""
