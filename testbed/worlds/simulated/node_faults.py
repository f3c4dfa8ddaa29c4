"""Faults of nodes and of link rates in virtual time: kill, pause, rate change."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from testbed.faults.events import NOTHING_CARRIED, NOTHING_HELD_UP, FaultHealed, FaultMissed, FaultStruck
from testbed.faults.model import Fault, Kill, Pause, PauseStorm, RateChange, Window
from testbed.history.events import NodeExited, NodeStarted
from testbed.worlds.simulated.agenda import Agenda
from testbed.worlds.simulated.lossless.host import LosslessHost
from testbed.worlds.simulated.node import SimulatedNode
from testbed.worlds.simulated.wire import Wire
from topologies import Direction, Topology
from workloads.machine import Event

__all__ = ["BACKEND", "NodeFaults"]

BACKEND = "virtual"
_KILLED = -9
"""status of a node that a fault killed: that of SIGKILL in waitpid"""


class NodeFaults:
    """Makes the appointments of all such faults. Calls `tell(node, event)` for each hit and each healing."""

    def __init__(
        self,
        agenda: Agenda,
        topology: Topology,
        nodes: Mapping[str, SimulatedNode],
        wires: Mapping[tuple[str, Direction], Wire],
        tell: Callable[[str, Event], None],
    ) -> None:
        self._agenda, self._topology, self._nodes, self._wires, self._tell = agenda, topology, nodes, wires, tell
        self.revivals: dict[str, int] = {}
        """by dead node that will restart: how often"""
        self._pauses: dict[str, Pause] = {}
        """by node that stands still"""
        self._storms: dict[PauseStorm, int] = {}
        """by storm that blows: how often its switch had held a frame back when it began"""
        self._slowed: dict[tuple[RateChange, str, Direction], int] = {}
        """frames that the wire had carried when its rate was changed"""

    def plan(self, fault: Fault, actor: int) -> None:
        """Packet faults belong to the filters of the ports; they are passed over here."""
        if isinstance(fault, Kill):
            if fault.window.stop_ns is not None:
                self.revivals[fault.node] = self.revivals.get(fault.node, 0) + 1
            self._appoint(fault.window, actor, self._kill, self._revive, fault)
        elif isinstance(fault, Pause):
            self._appoint(fault.window, actor, self._pause, self._resume, fault)
        elif isinstance(fault, RateChange):
            self._appoint(fault.window, actor, self._slow, self._restore, fault)
        elif isinstance(fault, PauseStorm):
            self._appoint(fault.window, actor, self._blow, self._calm, fault)

    def _appoint(
        self, window: Window, actor: int, strike: Callable[[Any], None], heal: Callable[[Any], None], fault: Fault
    ) -> None:
        self._agenda.at(window.start_ns, actor, strike, fault)
        if window.stop_ns is not None:
            self._agenda.at(window.stop_ns, actor, heal, fault)

    def _kill(self, fault: Kill) -> None:
        self._nodes[fault.node].kill()
        self._struck(fault, "kill", fault.node)
        self._tell("world", NodeExited(fault.node, _KILLED, True, ""))

    def _revive(self, fault: Kill) -> None:
        self.revivals[fault.node] -= 1
        self._tell("world", NodeStarted(fault.node, str(self._topology.node(fault.node).role), BACKEND))
        self._tell("world", FaultHealed(fault.name, fault.node))
        self._nodes[fault.node].restart()

    def _pause(self, fault: Pause) -> None:
        self._nodes[fault.node].pause()
        self._pauses[fault.node] = fault
        self._struck(fault, "pause", fault.node)

    def _resume(self, fault: Pause) -> None:
        self._tell("world", FaultHealed(fault.name, fault.node))
        del self._pauses[fault.node]
        if not self._nodes[fault.node].resume():
            self._missed_pause(fault)

    def _blow(self, fault: PauseStorm) -> None:
        host = self._nodes[fault.node]
        assert isinstance(host, LosslessHost)
        host.begin_storm(fault.pfc_class)
        self._storms[fault] = host.held_up(fault.pfc_class)
        self._struck(fault, "pause_storm", fault.node)

    def _calm(self, fault: PauseStorm) -> None:
        host = self._nodes[fault.node]
        assert isinstance(host, LosslessHost)
        self._tell("world", FaultHealed(fault.name, fault.node))
        self._look_at_storm(fault)
        host.end_storm(fault.pfc_class)

    def _look_at_storm(self, fault: PauseStorm) -> None:
        host, before = self._nodes[fault.node], self._storms.pop(fault)
        assert isinstance(host, LosslessHost)
        if host.held_up(fault.pfc_class) == before:
            self._tell("world", FaultMissed(fault.name, "pause_storm", fault.node, "", 1, NOTHING_HELD_UP))

    def finish(self) -> None:
        """The run is over: report the faults that changed nothing."""
        for node, fault in self._pauses.items():
            if not self._nodes[node].is_late():
                self._missed_pause(fault)
        for storm in list(self._storms):
            self._look_at_storm(storm)
        for change, link, direction in list(self._slowed):
            self._look_at_rate(change, link, direction)

    def _slow(self, fault: RateChange) -> None:
        for link in fault.links:
            for direction in fault.directions:
                wire = self._wires[link, direction]
                if wire.rate_bps != fault.rate_bps:
                    wire.rate_bps = fault.rate_bps
                    self._slowed[fault, link, direction] = wire.frames
                    self._struck(fault, "rate_change", link, str(direction))

    def _restore(self, fault: RateChange) -> None:
        for link in fault.links:
            for direction in fault.directions:
                self._wires[link, direction].rate_bps = self._topology.link(link).shape.rate_bps
                self._look_at_rate(fault, link, direction)
            self._tell("world", FaultHealed(fault.name, link))

    def _look_at_rate(self, fault: RateChange, link: str, direction: Direction) -> None:
        carried = self._slowed.pop((fault, link, direction), None)
        if carried is not None and self._wires[link, direction].frames == carried:
            self._tell("world", FaultMissed(fault.name, "rate_change", link, str(direction), 1, NOTHING_CARRIED))

    def _missed_pause(self, fault: Pause) -> None:
        self._tell("world", FaultMissed(fault.name, "pause", fault.node, "", 1, NOTHING_HELD_UP))

    def _struck(self, fault: Fault, kind: str, target: str, direction: str = "") -> None:
        self._tell("world", FaultStruck(fault.name, kind, BACKEND, target, direction, "", -1, -1, 1))
