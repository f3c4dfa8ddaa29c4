"""Emulated hosts, a card of a lab: the emulated world, whose switch is a relay into a tunnel to the card's data
ports."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from testbed.faults.model import Kill, Pause
from testbed.history import Record, make_record
from testbed.history.events import TrafficStarted
from testbed.history.lab_events import LabStep
from testbed.lab.drivers import HostDriver, LabCardDriver, Undoing, read_bitstream
from testbed.lab.lab import Lab, Tell
from testbed.lab.model import Card, Inventory, Tunnel
from testbed.plan import Plan
from testbed.scenario.model import Scenario
from testbed.worlds.base import RunFacts
from testbed.worlds.emulated.world import START_LEAD_NS, EmulatedWorld
from testbed.worlds.lab.cardside import configure_card, tell_card
from testbed.worlds.lab.placing import PROGRAMS
from testbed.worlds.lab.relay import relay_builder
from workloads.errors import InternalError, ScenarioError

__all__ = ["MixedWorld", "refuse_for_tunnel"]

_LEASE_MARGIN_S = 600.0


def refuse_for_tunnel(scenario: Scenario, card: Card, file: str) -> Tunnel:
    """The way to the card. Raises ScenarioError for what it cannot be."""
    tunnel = card.tunnel
    if tunnel is None:
        raise ScenarioError(
            "this card has no tunnel", file=file, key=f"cards.{card.name}.tunnel", allowed="see docs/lab.md"
        )
    if scenario.topology.kind != "rack" or scenario.switch.program not in PROGRAMS:
        raise ScenarioError(
            "a card is the one switch of a rack", file=scenario.source, key="topology.kind",
            found=f"{scenario.topology.kind}, program {scenario.switch.program}", allowed="rack, netreduce",
        )  # fmt: skip
    if scenario.trace:
        raise ScenarioError(
            "a card does not tell every step of its tables", file=scenario.source, key="trace", allowed="false"
        )
    if len(scenario.topology.hosts) > tunnel.ports:
        raise ScenarioError(
            "the card has fewer ports than the scenario has hosts", file=file, key=f"cards.{card.name}.tunnel.ports",
            found=str(tunnel.ports), allowed=f"{len(scenario.topology.hosts)} or more",
        )  # fmt: skip
    for fault in scenario.faults:
        if isinstance(fault, Kill | Pause) and fault.node in {switch.name for switch in scenario.topology.switches}:
            raise ScenarioError("a card is no process of ours", file=scenario.source, key="faults", found=fault.name)
    return tunnel


class MixedWorld:
    """`card`: None for the only one of the lab."""

    name = "emulated"

    def __init__(
        self, inventory: Inventory, card: str | None = None, tell: Tell | None = None, state: Path | None = None
    ) -> None:
        self._inventory, self._card, self._tell, self._state = inventory, inventory.card(card), tell, state
        self.replay_options = f" --card {self._card.name} --inventory {inventory.file}"

    def run(self, plan: Plan, run_dir: Path, on_record: Callable[[Record], None]) -> RunFacts:
        """Raises as EmulatedWorld and the steps of a lab do. No connection is open while nodes are forked."""
        tunnel = refuse_for_tunnel(plan.scenario, self._card, self._inventory.file)
        bitstream = read_bitstream(self._card)
        (switch,) = plan.switches
        host = self._inventory.hosts[self._card.host]
        origin: list[int] = []

        def hear(record: Record) -> None:
            if isinstance(record.event, TrafficStarted):
                origin.append(time.time_ns() + START_LEAD_NS - record.t)
            on_record(record)

        def tell(step: LabStep) -> None:
            on_record(make_record(0, "world", step))
            if self._tell is not None:
                self._tell(step)

        world = EmulatedWorld(relay_builder(tunnel, host.namespace))
        with Lab(self._inventory, tell, state=self._state) as lab, lab.owner.alone():
            hosts = HostDriver(lab, [host])
            hosts.check(needs_version=False)
            hosts.deploy()
            with Undoing({"lease": hosts.held()}) as undoing:
                card = LabCardDriver(lab, self._card.name, undoing)
                seconds = plan.scenario.time_limit_ns / 1e9 * self._inventory.dilation + _LEASE_MARGIN_S
                HostDriver(lab, [host], undoing).lease(seconds=seconds, purpose="run")
                if bitstream is not None:
                    card.program(bitstream=bitstream)
                configure_card(card, switch)
                lab.close()
                facts = world.run(plan, run_dir, hear)
                card.stop()
                if not origin:
                    raise InternalError("the emulated world did not tell when its traffic started")
                partial = tell_card(
                    card, switch.name, run_dir / "hosts", origin[0], on_record, None, plan.scenario.dilation or 1
                )
        environment = {
            **facts.environment,
            "lab": self._inventory.name,
            "card": f"{self._card.name} of {host.name}, by VXLAN",
        }
        return replace(facts, environment=environment, partial=(*facts.partial, *partial))
