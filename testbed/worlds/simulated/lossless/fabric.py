"""The lossless network as a whole: gives wires, hosts and switches what they need, says what caused a pause, and finds
links that wait for each other."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from switch_nodes.lossless.buffer import Account, Key, SharedBuffer
from switch_nodes.lossless.pauses import Interval
from switch_nodes.lossless.waits import Place, Waiting, cycle_of, deadlocked
from testbed.history.pfc_events import LinkPaused, PfcDeadlocked
from testbed.scenario.keys.pfc import Pfc
from testbed.scenario.lossless import buffer_of, receive_buffer
from testbed.scenario.model import Scenario
from testbed.worlds.simulated.lossless import local
from testbed.worlds.simulated.lossless.hooks import Hooks
from testbed.worlds.simulated.lossless.host import LosslessHost
from testbed.worlds.simulated.lossless.switch import LosslessSwitch
from testbed.worlds.simulated.lossless.wire import LosslessWire
from testbed.worlds.simulated.node import SimulatedNode
from testbed.worlds.simulated.wire import Wire
from topologies import Direction, Topology
from workloads.machine import Event

__all__ = ["LosslessFabric", "cycle_texts"]

Entrance = tuple[str, int]
"""(node, port by which frames come in)"""


class LosslessFabric:
    """`tell(node, event)` records what the network as a whole finds out."""

    def __init__(self, scenario: Scenario, tell: Callable[[str, Event], None]) -> None:
        assert scenario.pfc is not None
        self._scenario, self._tell = scenario, tell
        self._pfc: Pfc = scenario.pfc
        self._switches: dict[str, LosslessSwitch] = {}
        self._hosts: dict[str, LosslessHost] = {}
        self._into: dict[Entrance, LosslessWire] = {}
        """wire that ends there"""
        self._from: dict[int, str] = {}
        """sender of a wire, by identity"""
        self._ends: dict[int, Entrance] = {}
        """where a wire ends, by identity"""
        self._roots: dict[tuple[str, str, int], str] = {}
        """what was congested when the pause of (link, direction, class) began"""
        self._is_deadlocked = False
        self.first_drop = ""
        """`LINK DIRECTION` by which the first packet came that a buffer dropped; empty: none was"""

    def connect(
        self, topology: Topology, nodes: Mapping[str, SimulatedNode], wires: Mapping[tuple[str, Direction], Wire]
    ) -> None:
        """All nodes and wires are there."""
        pfc = self._pfc
        hooks = Hooks(
            self.look_for_deadlock, self._blame, self._dropped, partial(local.half_pause_ns, pfc), self._finish
        )
        for link in topology.links:
            for direction in (Direction.UP, Direction.DOWN):
                wire = wires[link.name, direction]
                assert isinstance(wire, LosslessWire)
                up = direction is Direction.UP
                source, (target, port) = (link.a, (link.b, link.b_port)) if up else (link.b, (link.a, link.a_port))
                is_switch = [isinstance(nodes[name], LosslessSwitch) for name in (source, target)]
                local.make_obey(wire, pfc, link.shape, from_switch=is_switch[0], to_switch=is_switch[1])
                wire.on_pause_end, wire.on_watchdog = self._pause_ended, self._watchdog_changed
                self._into[target, port], self._from[id(wire)], self._ends[id(wire)] = wire, source, (target, port)
        rates = dict(pfc.receivers)
        for name, node in nodes.items():
            entrances = {port: self._into[name, port] for port in node.wires if (name, port) in self._into}
            links = {port: (wire.link, wire.direction) for port, wire in entrances.items()}
            if isinstance(node, LosslessSwitch):
                self._switches[name] = node
                node.links = links
                shares = self._scenario.switch.slot_memory == "shared"
                node.own(buffer_of(pfc, topology, name), pfc.quanta, hooks, charges_slots=shares)
            elif isinstance(node, LosslessHost):
                self._hosts[name] = node
                node.links = links
                node.own(topology.node(name).mac, pfc.quanta, hooks)
                for wire in entrances.values():
                    node.held_up = wire.held_up.__getitem__
                if name in rates:
                    node.receive_through(receive_buffer(pfc, topology, name), rates[name])

    @property
    def needs_comparison(self) -> bool:
        """Whether only the same run without PFC can say if a pause was needed: PFC paused a link, and nothing was
        lost."""
        return not self.first_drop and any(wire.pauses.frames_heard for wire in self._into.values())

    def look_for_deadlock(self) -> None:
        """Report paused links that wait for each other, once."""
        if self._is_deadlocked:
            return
        paused = self._waits()
        stuck = deadlocked(paused, partial(local.that_go_on, self._accounts())) if paused else {}
        cycle = cycle_of(stuck)
        if cycle:
            self._is_deadlocked = True
            self._tell("world", PfcDeadlocked(cycle_texts(cycle), len(stuck)))

    def _waits(self) -> dict[Place, list[Waiting]]:
        """What is charged to each (port, class) of a switch that asked for a pause, and waits for something."""
        found: dict[Place, list[Waiting]] = {}
        for name, node in self._switches.items():
            ends = {port: self._ends[id(wire)][0] for port, wire in node.wires.items()}
            far = {port: end for port, end in ends.items() if end in self._switches}
            found.update(local.waits_of(node, far, partial(self._is_still, name)))
        return found

    def _is_still(self, switch: str, port: int, pfc_class: int) -> bool:
        return bool(self._into[switch, port].is_still(pfc_class))

    def _accounts(self) -> dict[Place, tuple[SharedBuffer, Account]]:
        found: dict[Place, tuple[SharedBuffer, Account]] = {}
        for node in self._switches.values():
            assert node.buffer is not None
            found |= {local.place_of(node, key): (node.buffer, each) for key, each in node.buffer.accounts.items()}
        return found

    def _blame(self, node: str, key: Key) -> None:
        """Work out what is congested, as a pause of this (port, class) begins."""
        wire = self._into[node, key[0]]
        self._roots[wire.link, wire.direction, key[1]] = self._root(node, key)

    def _dropped(self, link: str, direction: str) -> None:
        self.first_drop = self.first_drop or f"{link} {direction}"

    def _root(self, node: str, key: Key) -> str:
        if node in self._hosts:
            return f"storm of {node}" if self._hosts[node].is_storming else f"receiver {node}"
        found, further = local.congested(self._switches[node], key)
        return (further and self._roots.get((*further, key[1]))) or found

    def _pause_ended(self, wire: LosslessWire, interval: Interval) -> None:
        key = wire.link, wire.direction, interval.pfc_class
        root = self._roots.pop(key, "")
        event = LinkPaused(*key, interval.since, interval.until, root)
        self._tell(self._from[id(wire)], event)

    def _watchdog_changed(self, wire: LosslessWire, pfc_class: int, begins: bool, dropped: int) -> None:
        self._tell(self._from[id(wire)], local.watchdog_event(self._pfc, wire, pfc_class, begins, dropped))

    def _finish(self, node: str, wires: Mapping[int, Wire]) -> None:
        self.look_for_deadlock()
        for event in local.ends_of_wires(wires.values()):
            self._tell(node, event)


def cycle_texts(cycle: Sequence[tuple[Place, str]]) -> tuple[str, ...]:
    """A circle of `cycle_of`, as `PfcDeadlocked` names it."""
    return tuple(
        f"{link} class {pfc_class}" + (f" (slots of {slots})" if slots else "") for (link, _, pfc_class), slots in cycle
    )
