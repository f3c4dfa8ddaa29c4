"""The controller without its wires: what switches say goes in, commands and facts come out. No clock, no library.

Rule 1: a switch that (re)connects says what it holds, and the controller sends only the difference. Right entries stay
        as they are, so a controller that dies and comes back changes nothing.
Rule 2: make before break: groups, then flows that use them. Unwanted entries go last.
Rule 3: every change ends with a barrier. The controller reports a fact when the switch has answered the barrier.
Rule 4: a port that changes at one switch may change the rules of all. The controller computes all rules again and sends
        the difference.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from testbed.steering.entries import FlowEntry, GroupEntry, Table
from testbed.steering.events import RulesInstalled, SwitchLost
from testbed.steering.fabric import CommoditySwitch, Fabric, Port
from workloads.machine import Event

__all__ = ["AddFlow", "AddGroup", "Barrier", "Command", "Controller", "RemoveFlows", "RemoveGroup"]


@dataclass(frozen=True, slots=True)
class AddGroup:
    group: GroupEntry


@dataclass(frozen=True, slots=True)
class AddFlow:
    """Replaces an entry of the same match and priority."""

    flow: FlowEntry


@dataclass(frozen=True, slots=True)
class RemoveFlows:
    """All with exactly this cookie."""

    cookie: int


@dataclass(frozen=True, slots=True)
class RemoveGroup:
    number: int


@dataclass(frozen=True, slots=True)
class Barrier:
    number: int


Command = AddGroup | AddFlow | RemoveFlows | RemoveGroup | Barrier


@dataclass(slots=True)
class _Connected:
    """What a switch holds once it has carried out all commands."""

    switch: CommoditySwitch
    flows: set[int]
    groups: set[int]
    pending: dict[int, RulesInstalled] = field(default_factory=dict)
    """rules that wait for an answer, by number of the barrier"""


class Controller:
    """Of one network."""

    def __init__(self, fabric: Fabric) -> None:
        self.fabric = fabric
        self._dead: set[Port] = set()
        self._connected: dict[int, _Connected] = {}
        self._confirmed: set[int] = set()
        self._barriers = 0
        self._commands: deque[tuple[int, Command]] = deque()
        self._events: deque[Event] = deque()

    def switch_joined(
        self, datapath: int, ports: Mapping[int, bool], cookies: Collection[int], groups: Collection[int]
    ) -> bool:
        """`ports`: from 0, whether each has a carrier; one that is absent has none. `cookies`, `groups`: what it holds
        now. False for a switch that is none of ours: it is left alone."""
        switch = self.fabric.by_datapath(datapath)
        if switch is None:
            return False
        self._connected[datapath] = _Connected(switch, set(cookies), set(groups))
        before = set(self._dead)
        for port in range(switch.ports):
            self._note(switch, port, ports.get(port, False))
        self._update("connected", datapath, everywhere=before != self._dead)
        return True

    def switch_left(self, datapath: int) -> None:
        gone = self._connected.pop(datapath, None)
        self._confirmed.discard(datapath)
        if gone is not None:
            self._events.append(SwitchLost(gone.switch.name))

    def port_changed(self, datapath: int, port: int, up: bool) -> None:
        """A report that changes nothing is ignored, and so are ports that the plan does not know."""
        found = self._connected.get(datapath)
        if found is None or not 0 <= port < found.switch.ports:
            return
        if self._note(found.switch, port, up):
            self._update(f"port {port} of {found.switch.name} is {'up' if up else 'down'}", datapath)

    def barrier_passed(self, datapath: int, number: int) -> None:
        found = self._connected.get(datapath)
        if found is not None and number in found.pending:
            self._events.append(found.pending.pop(number))
            if not found.pending:
                self._confirmed.add(datapath)

    @property
    def is_ready(self) -> bool:
        """Every switch is connected and has confirmed its rules."""
        return self._confirmed >= {switch.datapath for switch in self.fabric.switches}

    def table(self, switch: CommoditySwitch) -> Table:
        """What it shall hold now."""
        return self.fabric.tables(self._dead)[switch.name]

    def down(self, switch: CommoditySwitch) -> tuple[int, ...]:
        return tuple(sorted(port for name, port in self._dead if name == switch.name))

    def next_command(self) -> tuple[int, Command] | None:
        """(datapath, command for it)"""
        return self._commands.popleft() if self._commands else None

    def next_event(self) -> Event | None:
        return self._events.popleft() if self._events else None

    def _note(self, switch: CommoditySwitch, port: int, up: bool) -> bool:
        """Whether that is news."""
        known = (switch.name, port) not in self._dead
        (self._dead.discard if up else self._dead.add)((switch.name, port))
        return known != up

    def _update(self, reason: str, about: int, *, everywhere: bool = True) -> None:
        """The switch that the news are about reports a fact in any case, others where something changes."""
        tables = self.fabric.tables(self._dead)
        for datapath, found in self._connected.items():
            if everywhere or datapath == about:
                self._send_difference(datapath, found, tables[found.switch.name], reason, datapath == about)

    def _send_difference(self, datapath: int, found: _Connected, table: Table, reason: str, tell: bool) -> None:
        flows = {flow.cookie: flow for flow in table.flows}
        groups = {group.number: group for group in table.groups}
        new = [flow for cookie, flow in flows.items() if cookie not in found.flows]
        stale = found.flows - flows.keys()
        commands: list[Command] = [AddGroup(group) for n, group in groups.items() if n not in found.groups]
        commands += [AddFlow(flow) for flow in new]
        commands += [RemoveFlows(cookie) for cookie in sorted(stale)]
        commands += [RemoveGroup(number) for number in sorted(found.groups - groups.keys())]
        down, fallback = self.down(found.switch), self.fabric.falls_back(found.switch, self._dead)
        if not commands and not tell:
            return
        self._barriers += 1
        kept = len(flows) - len(new)
        found.pending[self._barriers] = RulesInstalled(
            found.switch.name, reason, down, fallback, kept, len(new), len(stale)
        )
        self._confirmed.discard(datapath)
        self._commands.extend((datapath, command) for command in (*commands, Barrier(self._barriers)))
        found.flows, found.groups = set(flows), set(groups)
