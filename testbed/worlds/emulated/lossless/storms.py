"""Pause storms in real time: the host sends its PFC frames, and its switch sees whether they held anything up."""

from __future__ import annotations

from testbed.faults.events import NOTHING_HELD_UP, FaultHealed, FaultMissed, FaultStruck
from testbed.faults.model import PauseStorm
from testbed.worlds.emulated.lossless.machine import LosslessMachine
from testbed.worlds.simulated.lossless.host import LosslessHost
from testbed.worlds.simulated.lossless.wire import LosslessWire
from testbed.worlds.simulated.wire import Wire

__all__ = ["BACKEND", "Storm", "StormAtSwitch"]

BACKEND = "user"


class Storm:
    """At the host."""

    def __init__(self, fault: PauseStorm, host: LosslessHost, machine: LosslessMachine) -> None:
        self._fault, self._host, self._machine = fault, host, machine

    def plan(self, actor: int) -> None:
        window = self._fault.window
        self._machine.agenda.at(window.start_ns, actor, self._begin)
        if window.stop_ns is not None:
            self._machine.agenda.at(window.stop_ns, actor, self._end)

    def _begin(self, _: object) -> None:
        fault = self._fault
        self._host.begin_storm(fault.pfc_class)
        self._machine.tell(fault.node, FaultStruck(fault.name, "pause_storm", BACKEND, fault.node, "", "", -1, -1, 1))

    def _end(self, _: object) -> None:
        self._machine.tell(self._fault.node, FaultHealed(self._fault.name, self._fault.node))
        self._host.end_storm(self._fault.pfc_class)


class StormAtSwitch:
    """At the switch, whose `wire` leads to the host."""

    def __init__(self, fault: PauseStorm, wire: Wire, machine: LosslessMachine) -> None:
        assert isinstance(wire, LosslessWire)
        self._fault, self._wire, self._machine = fault, wire, machine
        self._before: int | None = None
        """how often a frame was held back until the storm began; None: no storm blows"""

    def plan(self, actor: int) -> None:
        window = self._fault.window
        self._machine.agenda.at(window.start_ns, actor, self._begin)
        if window.stop_ns is not None:
            self._machine.agenda.at(window.stop_ns, actor, lambda _: self.look())

    def _begin(self, _: object) -> None:
        self._before = self._wire.held_up[self._fault.pfc_class]

    def look(self) -> None:
        """The storm is over, or the run: report one that held nothing up."""
        if self._before == self._wire.held_up[self._fault.pfc_class]:
            missed = FaultMissed(self._fault.name, "pause_storm", self._fault.node, "", 1, NOTHING_HELD_UP)
            self._machine.tell(self._fault.node, missed)
        self._before = None
