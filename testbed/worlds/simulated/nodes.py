"""Hosts and switches of the simulated world: how frames come in and leave."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from switch_nodes.filters import FrameFilter
from switch_nodes.own_program import check_told
from switch_nodes.program_events import PROGRAM_EVENTS
from switch_nodes.tap import Tap
from testbed.faults.gate import LOST, Gate
from testbed.scenario.model import Scenario
from testbed.scenario.transports import transports_of
from testbed.worlds.queue_drops import QueueDrops
from testbed.worlds.simulated.agenda import Agenda
from testbed.worlds.simulated.finishing import FinishingMachine
from testbed.worlds.simulated.node import SimulatedNode, Tell
from testbed.worlds.simulated.wire import Wire
from workloads.machine import Buffer, Event

__all__ = ["HostNode", "SwitchNode", "name_drops"]

_LOST, _WAKE, _ENTER = LOST, 0, 1
"""appointments of a node; from _ENTER on 2 * port + outgoing: of a frame that the filter there holds back"""


class HostNode(SimulatedNode):
    """Its NIC pulls a frame from the Machine only when the wire is free, so that a NAK turns a sender back at once."""

    def attach(self, port: int, wire: Wire) -> None:
        self.wires[port] = wire
        wire.fed_by(self)
        if next(iter(self.wires)):
            self._by_verbs, self._quick = True, None  # which has port 0 alone

    def pull(self) -> bytes | None:
        """The next frame. Called with the wire free; frames for further ports of the host are queued there."""
        if not self.alive or self.paused:
            return None
        if self._quick is not None:
            following = self._quick.give(self._agenda.now)
            if following is not None:
                if self._quick.events:
                    self._tell_events()
                self._arm()
            return following
        for number, (port, frame) in enumerate(self.machine.frames_to_send(self._agenda.now)):
            self._tell_events()  # that it left again, say: here, since nothing else may happen for long
            if port == next(iter(self.wires)):
                self._arm()  # what leaves may start a timer
                return bytes(frame)
            self.wires[port].send(bytes(frame))
            if number >= self._most_at_once:
                self._is_stuck(f"it gave out {number:,} frames in a row at {self._agenda.now} ns")
        return None

    def _let_leave(self) -> None:
        for wire in self.wires.values():
            wire.kick()


class SwitchNode(SimulatedNode):
    """Everything that its program gives out goes through the port's filter into the port's queue."""

    is_host = False

    def __init__(
        self,
        name: str,
        actor: int,
        agenda: Agenda,
        make: Callable[[], FinishingMachine],
        tell: Tell,
        ingress: Mapping[int, FrameFilter],
        egress: Mapping[int, FrameFilter],
        tap: Tap | None,
    ) -> None:
        SimulatedNode.__init__(self, name, actor, agenda, make, tell)
        self._ingress, self._egress, self._tap = ingress, egress, tap
        self._queue_drops = QueueDrops()
        self._gates: list[Gate | None] = []
        """by 2 * port + outgoing, as `_appointed`"""
        self._ports: list[Wire | None] = []
        self._appointed: Any = array("q", [-1])
        """time when the filter there releases the last frame that it holds back"""
        for port in {*ingress, *egress}:
            self._know(port)

    def attach(self, port: int, wire: Wire) -> None:
        self.wires[port] = wire
        self._know(port)
        self._ports[port] = wire

    def _know(self, port: int) -> None:
        """There is such a port."""
        while len(self._ports) <= port:
            number = len(self._ports)
            sides = self._ingress.get(number), self._egress.get(number)
            self._gates += [None if found is None else Gate(found) for found in sides]
            self._ports.append(None)
        self._appointed = array("q", [-1]) * len(self._gates)

    def arrive(self, port: int, frame: bytes) -> None:
        if 2 * port < len(self._gates) and self._gates[2 * port] is not None:
            self._pass(port, frame, False)
        else:
            SimulatedNode.arrive(self, port, frame)

    def act(self, what: int, argument: Any) -> None:
        if what == _WAKE:
            self._wake()
            return
        port, outgoing = (what - _ENTER) // 2, (what - _ENTER) % 2
        self._leave(port, argument) if outgoing else self._enter(port, argument)

    def finish(self) -> None:
        for found in (*self._ingress.values(), *self._egress.values()):
            found.finish(self._agenda.now)
            self._tell_strikes(found)
        super().finish()

    def _pass(self, port: int, frame: bytes, outgoing: bool) -> None:
        """The filter of the port decides on it."""
        gate = self._gates[2 * port + outgoing]
        assert gate is not None
        at = gate.passes(frame, self._agenda.now)
        if at >= 0:
            self._go_on(port, frame, outgoing, at)
        elif at == _LOST:
            gate.tell_lost(frame)
            self._tell_strikes(gate.filter)
            self._tell_gone(port, frame, outgoing)
        else:
            self._admit(port, frame, outgoing)

    def _tell_gone(self, port: int, frame: bytes, outgoing: bool) -> None:
        """The filter let nothing of it go on."""
        if self._tap is not None:
            self._tap.dropped(port, frame, self._agenda.now, outgoing, "filter")

    def _admit(self, port: int, frame: bytes, outgoing: bool) -> None:
        """A fault may touch it."""
        now, gate = self._agenda.now, self._gates[2 * port + outgoing]
        assert gate is not None
        deliveries = gate.filter.admit(frame, now)
        self._tell_strikes(gate.filter)
        if not deliveries:
            self._tell_gone(port, frame, outgoing)
        for delivery in deliveries:
            self._go_on(port, delivery.frame, outgoing, delivery.at)

    def _go_on(self, port: int, frame: bytes, outgoing: bool, at: int) -> None:
        """It passed, and goes on at that time."""
        now, side = self._agenda.now, 2 * port + outgoing
        if at <= now and self._appointed[side] < now:
            if outgoing:
                self._leave(port, frame)
            else:
                self._enter(port, frame)
        else:  # or the one that is due right now and was not heard yet would be overtaken
            self._appointed[side] = max(at, self._appointed[side])
            self._hold(max(now, at), port, frame, outgoing)

    def _hold(self, until: int, port: int, frame: bytes, outgoing: bool) -> None:
        # One actor per port and direction: the filter's order stands, other ports come in between.
        side = 2 * port + outgoing
        self._agenda.appoint(until, self._actor + 1 + side, self, _ENTER + side, frame)

    def _enter(self, port: int, frame: bytes) -> None:
        SimulatedNode.arrive(self, port, frame)

    def _leave(self, port: int, frame: bytes) -> None:
        wire = self._ports[port]
        if wire is None:
            raise KeyError(port)
        reason = wire.send(frame)
        if reason:
            self._tell_dropped(wire, frame, reason)
        if self._tap is None:
            return
        if reason:
            self._tap.dropped(port, frame, self._agenda.now, True, reason)
        elif wire.cut is not None:
            self._tap.trimmed(port, wire.cut, self._agenda.now)

    def _tell_dropped(self, wire: Wire, frame: Buffer, reason: str) -> None:
        """The queue of a wire did not take a frame: reported where the wire knows classes."""
        if wire.tells_drops and reason != "misfit":
            event = self._queue_drops.event(
                wire.link, wire.direction, frame, wire.waiting_with(frame), early=reason == "early"
            )
            self._tell(self.name, event)

    def _take(self, port: int, frame: bytes) -> None:
        if self._tap is not None:
            self._record(port, frame, outgoing=False)
        SimulatedNode._take(self, port, frame)

    def _let_leave(self) -> None:
        if self._quick is not None:
            outbox = self._quick.outbox
            while outbox:
                port, frame = outbox.popleft()
                self._depart(port, frame if type(frame) is bytes else bytes(frame))
            return
        for number, (port, frame) in enumerate(self.machine.frames_to_send(self._agenda.now)):
            if number >= self._most_at_once:
                self._is_stuck(f"it gave out {number:,} frames in a row at {self._agenda.now} ns")
            self._depart(port, bytes(frame))

    def _depart(self, port: int, frame: bytes) -> None:
        """The program gave it."""
        if self._tap is not None:
            self._record(port, frame, outgoing=True)
        if not 0 <= port < len(self._ports):
            raise KeyError(port)
        if self._gates[2 * port + 1] is None:
            self._leave(port, frame)
        else:
            self._pass(port, frame, True)

    def _hear(self, event: Event) -> None:
        if type(event) not in PROGRAM_EVENTS:
            check_told(self.machine, event)
        self._tell(self.name, event)

    def _record(self, port: int, frame: Buffer, *, outgoing: bool) -> None:
        assert self._tap is not None
        self._tap.record_frame(port, frame, self._agenda.now, outgoing)

    def _tell_strikes(self, found: FrameFilter) -> None:
        while (event := found.next_event()) is not None:
            self._tell(self.name, event)


def name_drops(nodes: Iterable[SimulatedNode], scenario: Scenario) -> None:
    """Switches tell frames that a queue did not take by the names that the jobs' transports have for them."""
    drops = QueueDrops(transports_of(scenario))
    for node in nodes:
        if isinstance(node, SwitchNode):
            node._queue_drops = drops
