"""The lossless network as a whole: gives wires, hosts and switches what they need, says what caused a pause, and finds
links that wait for each other."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping

from switch_nodes.lossless.buffer import Account, Key, SharedBuffer
from switch_nodes.lossless.pauses import Interval
from switch_nodes.lossless.waits import Place, Waiting, cycle_of, deadlocked
from switch_nodes.lossless.watchdog import Watchdog, WatchdogAction, WatchdogKnobs
from switch_nodes.program import slot_waits
from testbed.history.pfc_events import (
    FlowsPaused,
    LinkPaused,
    PfcDeadlocked,
    PfcWatchdogActed,
    PfcWatchdogMeasured,
    PfcWatchdogRestored,
)
from testbed.scenario.lossless import buffer_of, receive_buffer, response_of
from testbed.scenario.model import Scenario
from testbed.scenario.pfc import Pfc
from testbed.worlds.simulated.lossless.charge import Charge
from testbed.worlds.simulated.lossless.hooks import Hooks
from testbed.worlds.simulated.lossless.host import LosslessHost
from testbed.worlds.simulated.lossless.switch import LosslessSwitch
from testbed.worlds.simulated.lossless.wire import LosslessWire
from testbed.worlds.simulated.node import SimulatedNode
from testbed.worlds.simulated.wire import Wire
from topologies import Direction, Topology, format_ip
from workloads.machine import Event
from workloads.wire.pfc import pause_ns

__all__ = ["LosslessFabric"]

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
        hooks = Hooks(self.look_for_deadlock, self._blame, self._dropped, self._half_pause_ns, self._finish)
        for link in topology.links:
            for direction in (Direction.UP, Direction.DOWN):
                wire = wires[link.name, direction]
                assert isinstance(wire, LosslessWire)
                up = direction is Direction.UP
                source, (target, port) = (link.a, (link.b, link.b_port)) if up else (link.b, (link.a, link.a_port))
                wire.obey(pfc.classes, frozenset(pfc.lossless), response_of(pfc, link.shape))
                wire.delay_ns = 0 if isinstance(nodes[target], LosslessSwitch) else link.shape.delay_ns
                wire.on_pause_end, wire.on_watchdog = self._pause_ended, self._watchdog_changed
                if pfc.watchdog is not None and isinstance(nodes[source], LosslessSwitch):
                    wire.watchdog = Watchdog(self._knobs(), wire.pauses)
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
        stuck = deadlocked(paused, self._that_go_on) if len(paused) > 0 else {}
        cycle = cycle_of(stuck)
        if cycle:
            self._is_deadlocked = True
            texts = (
                f"{link} class {pfc_class}" + (f" (slots of {slots})" if slots else "")
                for (link, _, pfc_class), slots in cycle
            )
            self._tell("world", PfcDeadlocked(tuple(texts), len(stuck)))

    def _knobs(self) -> WatchdogKnobs:
        watchdog = self._pfc.watchdog
        assert watchdog is not None
        action = WatchdogAction(watchdog.action)
        return WatchdogKnobs(action, watchdog.detect_ns, watchdog.restore_ns, watchdog.poll_ns)

    def _half_pause_ns(self, wire: Wire) -> int:
        return max(1, pause_ns(self._pfc.quanta, wire.rate_bps) // 2)

    def _place(self, node: str, key: Key) -> Place:
        wire = self._into[node, key[0]]
        return f"{wire.link} {wire.direction}", node, key[1]

    def _waits(self) -> dict[Place, list[Waiting]]:
        """What is charged to each (port, class) of a switch that asked for a pause, and waits for something."""
        found: dict[Place, list[Waiting]] = {}
        for name, node in self._switches.items():
            assert node.buffer is not None
            of_node: dict[Key, list[Waiting]] = {
                key: [] for key, account in node.buffer.accounts.items() if account.is_paused
            }
            behind = defaultdict[int, set[Place]](set)
            charges: dict[int, Charge] = {}
            for wire in node.wires.values():
                assert isinstance(wire, LosslessWire)
                end, port = self._ends[id(wire)]
                for pfc_class, charge in wire.charges():
                    if pfc_class >= 0 and end in self._switches and wire.is_still(pfc_class):
                        charges[id(charge)] = charge
                        behind[id(charge)].add(self._place(end, (port, pfc_class)))
            for identity, charge in charges.items():
                if charge.account.key in of_node:
                    of_node[charge.account.key].append(Waiting(charge.size, tuple(sorted(behind[identity]))))
            if node.charges_slots:
                self._add_slots(name, node, of_node)
            found.update((self._place(name, key), waiting) for key, waiting in of_node.items())
        return found

    def _add_slots(self, name: str, node: LosslessSwitch, found: Mapping[Key, list[Waiting]]) -> None:
        for slot in slot_waits(node.machine):
            for (port, pfc_class), waiting in found.items():
                if port in slot.held:
                    lacks = (
                        self._place(name, (missing, pfc_class))
                        for missing in slot.missing
                        if self._into[name, missing].is_still(pfc_class)
                    )
                    waiting.append(Waiting(slot.held[port], tuple(sorted(lacks)), name))

    def _that_go_on(self, stuck: Mapping[Place, int]) -> Iterable[Place]:
        """Which of these links their switch would let go on if only so many bytes of each were left, and nothing of all
        others."""
        shared = defaultdict[str, int](int)
        accounts: dict[Place, tuple[SharedBuffer, Account]] = {}
        for name, node in self._switches.items():
            assert node.buffer is not None
            for key, account in node.buffer.accounts.items():
                place = self._place(name, key)
                if place in stuck:
                    accounts[place] = node.buffer, account
                    shared[name] += max(0, min(stuck[place], account.used) - account.limits.reserve)
        for place, (buffer, account) in accounts.items():
            left = min(stuck[place], account.used)
            headroom = stuck[place] - left
            own = max(0, left - account.limits.reserve)
            free = buffer.shared_bytes - shared[place[1]]
            if not headroom and buffer.may_resume(own, buffer.threshold_at(account, free, own)):
                yield place

    def _blame(self, node: str, key: Key) -> None:
        """Work out what is congested, as a pause of this (port, class) begins."""
        wire = self._into[node, key[0]]
        self._roots[wire.link, wire.direction, key[1]] = self._root(node, key)

    def _dropped(self, link: str, direction: str) -> None:
        self.first_drop = self.first_drop or f"{link} {direction}"

    def _root(self, node: str, key: Key) -> str:
        if node in self._hosts:
            return f"storm of {node}" if self._hosts[node].is_storming else f"receiver {node}"
        switch, most, paused = self._switches[node], defaultdict[tuple[str, str], int](int), set[tuple[str, str]]()
        for wire in switch.wires.values():
            assert isinstance(wire, LosslessWire)
            if wire.is_paused(key[1]):
                paused.add((wire.link, wire.direction))
            for _, charge in wire.charges():
                if charge.account.key == key:
                    most[wire.link, wire.direction] += charge.size
        of_slots = sum(slot.held.get(key[0], 0) for slot in slot_waits(switch.machine)) if switch.charges_slots else 0
        if of_slots > max(most.values(), default=0):
            return f"slots of {node}"
        if not most:
            return f"{node}"
        link, direction = max(most, key=lambda place: (most[place], place))
        further = self._roots.get((link, direction, key[1])) if (link, direction) in paused else None
        return further or f"{link} {direction}"

    def _pause_ended(self, wire: LosslessWire, interval: Interval) -> None:
        key = wire.link, wire.direction, interval.pfc_class
        root = self._roots.pop(key, "")
        event = LinkPaused(*key, interval.since, interval.until, root)
        self._tell(self._from[id(wire)], event)

    def _watchdog_changed(self, wire: LosslessWire, pfc_class: int, begins: bool, dropped: int) -> None:
        event: Event = PfcWatchdogRestored(wire.link, wire.direction, pfc_class, dropped)
        if begins:
            assert self._pfc.watchdog is not None
            event = PfcWatchdogActed(wire.link, wire.direction, pfc_class, self._pfc.watchdog.action, dropped)
        self._tell(self._from[id(wire)], event)

    def _finish(self, node: str, wires: Mapping[int, Wire]) -> None:
        self.look_for_deadlock()
        for wire in wires.values():
            assert isinstance(wire, LosslessWire)
            wire.finish()
            for pfc_class, dropped in enumerate(wire.watchdog_dropped):
                if dropped:
                    self._tell(node, PfcWatchdogMeasured(wire.link, wire.direction, pfc_class, dropped))
            if wire.flows:
                texts = {f"{format_ip(a)}>{format_ip(b)}": ns for (a, b), ns in sorted(wire.flows.items())}
                self._tell(node, FlowsPaused(wire.link, wire.direction, texts))
