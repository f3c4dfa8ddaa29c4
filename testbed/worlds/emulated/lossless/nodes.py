"""Makes the lossless host or switch of one process of the emulated world, with the wires that leave it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from switch_nodes.config import SwitchConfig
from switch_nodes.events import QueueMarks
from switch_nodes.lossless.buffer import Key
from switch_nodes.lossless.pauses import Interval, PauseState
from switch_nodes.registry import create_program
from switch_nodes.tap import Tap
from testbed.faults.model import PauseStorm
from testbed.history.pfc_events import LinkPaused, PauseAsked
from testbed.plan import Plan
from testbed.plan.filters import make_filters
from testbed.scenario.keys.pfc import Pfc
from testbed.scenario.lossless import buffer_of, largest_frame, receive_buffer, response_of
from testbed.worlds.emulated.lossless.held import pauses_held
from testbed.worlds.emulated.lossless.machine import LosslessMachine
from testbed.worlds.emulated.lossless.storms import Storm, StormAtSwitch
from testbed.worlds.simulated.agenda import Agenda
from testbed.worlds.simulated.finishing import FinishingMachine
from testbed.worlds.simulated.lossless import local
from testbed.worlds.simulated.lossless.hooks import Hooks
from testbed.worlds.simulated.lossless.host import LosslessHost
from testbed.worlds.simulated.lossless.switch import LosslessSwitch
from testbed.worlds.simulated.lossless.wire import LosslessWire
from testbed.worlds.simulated.nodes import name_drops
from testbed.worlds.simulated.wire import Wire
from topologies import Direction, LinkShape, Role

__all__ = ["lossless_host", "lossless_switch"]

_NODE, _WIRES, _FAULTS = 0, 1 << 15, 1 << 17
"""actor numbers: of the node and its filters, of its wires, of storms"""


def lossless_host(plan: Plan, name: str, make: Callable[[], FinishingMachine], slack_ns: int) -> LosslessMachine:
    """A host that runs what `make` makes. `slack_ns`: as of LosslessMachine, in emulated time."""
    pfc, topology = plan.scenario.pfc, plan.scenario.topology
    assert pfc is not None
    machine = LosslessMachine(Agenda(plan.scenario.seed), slack_ns)
    host = LosslessHost(name, _NODE, machine.agenda, make, machine.tell)
    surroundings = _Surroundings(plan, machine, host)
    host.own(topology.node(name).mac, pfc.quanta, surroundings.hooks())
    if name in dict(pfc.receivers):
        host.receive_through(receive_buffer(pfc, topology, name), dict(pfc.receivers)[name])
    for number, fault in enumerate(plan.scenario.faults):
        if isinstance(fault, PauseStorm) and fault.node == name:
            Storm(fault, host, machine).plan(_FAULTS + number)
    return machine


def lossless_switch(plan: Plan, config: SwitchConfig, tap: Tap | None, slack_ns: int) -> LosslessMachine:
    """A switch that runs its program."""
    pfc, topology = plan.scenario.pfc, plan.scenario.topology
    assert pfc is not None
    machine = LosslessMachine(Agenda(plan.scenario.seed), slack_ns)
    ingress, egress = make_filters(plan, config.name)
    switch = LosslessSwitch(
        config.name, _NODE, machine.agenda, partial(create_program, config), machine.tell, ingress, egress, tap
    )
    name_drops([switch], plan.scenario)
    surroundings = _Surroundings(plan, machine, switch)
    shares = plan.scenario.switch.slot_memory == "shared"
    switch.own(buffer_of(pfc, topology, config.name), pfc.quanta, surroundings.hooks(), charges_slots=shares)
    for number, fault in enumerate(plan.scenario.faults):
        for port, link, _ in topology.ports(config.name):
            if isinstance(fault, PauseStorm) and fault.node in (link.a, link.b):
                storm = StormAtSwitch(fault, switch.wires[port], machine)
                storm.plan(_FAULTS + number)
                surroundings.at_end.append(storm.look)
    return machine


class _Surroundings:
    """The wires that leave a node, and what the node asks of the network around it."""

    def __init__(self, plan: Plan, machine: LosslessMachine, node: LosslessHost | LosslessSwitch) -> None:
        pfc, topology = plan.scenario.pfc, plan.scenario.topology
        assert pfc is not None
        self._pfc, self._machine, self._node = pfc, machine, node
        self._far: dict[int, str] = {}
        """switch at the other end of a port"""
        self._asked_at: dict[Key, int] = {}
        self._reported: dict[Key, PauseAsked] = {}
        """the last one, by (port, class)"""
        self.at_end: list[Callable[[], None]] = []
        """called when the run is over"""
        asked = dict[int, PauseState]()
        for port, link, entering in topology.ports(node.name):
            far = topology.node(link.a if link.b == node.name else link.b)
            wire = LosslessWire(machine.agenda, _WIRES + port, link.shape)
            wire.link = link.name
            wire.direction = str(Direction.DOWN if entering is Direction.UP else Direction.UP)
            is_switch = isinstance(node, LosslessSwitch), far.role is Role.SWITCH
            local.make_obey(wire, pfc, link.shape, from_switch=is_switch[0], to_switch=is_switch[1])
            wire.on_pause_end, wire.on_watchdog = self._pause_ended, self._watchdog_changed
            node.attach(port, wire)
            node.links[port] = link.name, str(entering)
            if far.role is Role.SWITCH:
                self._far[port] = far.name
            asked[port] = PauseState(link.shape.rate_bps, _still_after_ns(pfc, link.shape))
        machine.hold(node, asked)

    def hooks(self) -> Hooks:
        """Circles of links, and what is lost first, only the world sees."""
        half = partial(local.half_pause_ns, self._pfc)
        return Hooks(lambda: None, self._blame, lambda *_: None, half, self._finish)

    def _blame(self, node: str, key: Key) -> None:
        link, direction = self._node.links[key[0]]
        self._asked_at[key] = self._machine.agenda.now
        if isinstance(self._node, LosslessHost):
            cause, further = f"storm of {node}" if self._node.is_storming else f"receiver {node}", None
        else:
            cause, further = local.congested(self._node, key)
        event = PauseAsked(link, direction, key[1], cause, further is not None)
        if further is not None or self._reported.get(key) != event:  # a storm asks again and again
            self._machine.tell(node, event)
            self._reported[key] = event

    def _pause_ended(self, wire: LosslessWire, interval: Interval) -> None:
        event = LinkPaused(wire.link, wire.direction, interval.pfc_class, interval.since, interval.until, "")
        self._machine.tell(self._node.name, event)

    def _watchdog_changed(self, wire: LosslessWire, pfc_class: int, begins: bool, dropped: int) -> None:
        self._machine.tell(self._node.name, local.watchdog_event(self._pfc, wire, pfc_class, begins, dropped))

    def _finish(self, node: str, wires: Mapping[int, Wire]) -> None:
        if isinstance(self._node, LosslessSwitch):
            for held in pauses_held(
                self._node, self._far, self._asked_at, self._machine.asked, self._machine.agenda.now
            ):
                self._machine.tell(node, held)
            for port, wire in wires.items():
                if wire.marks or wire.drops:
                    self._machine.tell(node, QueueMarks(port, wire.marks, 0, refused=wire.drops))
        for act in self.at_end:
            act()
        for event in local.ends_of_wires(wires.values()):
            self._machine.tell(node, event)


def _still_after_ns(pfc: Pfc, shape: LinkShape) -> int:
    """From a PFC frame to the arrival of the last frame that its receiver had begun."""
    frame_ns = 8 * largest_frame(shape) * 10**9 // shape.rate_bps
    return 2 * shape.delay_ns + response_of(pfc, shape) + frame_ns
