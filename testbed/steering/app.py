"""The application: carries what switches say to the `Controller`, and its commands back. The same file runs under
os-ken and under ryu (`testbed.steering.compat`); nothing is decided here."""

from __future__ import annotations

import socket
from typing import Any, ClassVar

from testbed.steering.compat import library_parts
from testbed.steering.controller import Barrier
from testbed.steering.events import RulesRefused, SwitchLost
from testbed.steering.messages import make_message, read_counters, read_port
from testbed.steering.session import OpenFlowSession

__all__ = ["SteeringApp"]

_parts = library_parts()
_set_ev_cls, _event = _parts.handler.set_ev_cls, _parts.ofp_event
_Base: Any = _parts.app_base
_MAIN, _DEAD = _parts.handler.MAIN_DISPATCHER, _parts.handler.DEAD_DISPATCHER


class _Inventory:
    """Answers of a switch that has just connected; the controller gets the event when all are there."""

    def __init__(self) -> None:
        self.ports: dict[int, bool] = {}
        self.cookies: set[int] = set()
        self.groups: set[int] = set()
        self.missing = {"ports", "rules", "groups"}


class SteeringApp(_Base):  # type: ignore[misc]
    OFP_VERSIONS: ClassVar[list[int]] = [_parts.ofproto.OFP_VERSION]
    session: ClassVar[OpenFlowSession]
    """set before the library makes the one object of this class"""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._datapaths: dict[int, Any] = {}
        self._inventories: dict[int, _Inventory] = {}
        self._counters: dict[int, list[Any]] = {}
        self._barriers: dict[tuple[int, int], int] = {}
        """(datapath, transaction) -> number of the barrier"""
        self.session.ask_counters = self._ask_counters

    def start(self) -> Any:
        for listener in self.session.listeners:
            _parts.hub.spawn(_serve, listener)
        return super().start()

    @_set_ev_cls(_event.EventOFPStateChange, [_MAIN, _DEAD])  # type: ignore[untyped-decorator]
    def on_state(self, event: Any) -> None:
        datapath: Any = event.datapath
        if datapath is None:
            return
        number: int = datapath.id
        if event.state == _MAIN:
            self._datapaths[number] = datapath
            self._inventories[number] = _Inventory()
            for request in ("OFPPortDescStatsRequest", "OFPFlowDescStatsRequest", "OFPGroupDescStatsRequest"):
                datapath.send_msg(getattr(_parts.parser, request)(datapath))
        elif self._datapaths.get(number) is datapath:
            del self._datapaths[number]
            self._inventories.pop(number, None)
            self.session.controller.switch_left(number)
            self._settle()

    @_set_ev_cls(_event.EventOFPPortDescStatsReply, _MAIN)  # type: ignore[untyped-decorator]
    def on_ports(self, event: Any) -> None:
        found = self._inventories.get(event.msg.datapath.id)
        if found is not None:
            found.ports.update(port for item in event.msg.body if (port := read_port(_parts, item)) is not None)
            self._complete(event.msg, found, "ports")

    @_set_ev_cls(_event.EventOFPFlowDescStatsReply, _MAIN)  # type: ignore[untyped-decorator]
    def on_flows(self, event: Any) -> None:
        message, datapath = event.msg, event.msg.datapath.id
        found = self._inventories.get(datapath)
        if found is not None:
            found.cookies.update(flow.cookie for flow in message.body)
            self._complete(message, found, "rules")
            return
        collected = self._counters.setdefault(datapath, [])
        collected += message.body
        if not message.flags & _parts.ofproto.OFPMPF_REPLY_MORE:
            self.session.on_counters(datapath, read_counters(self._counters.pop(datapath)))

    @_set_ev_cls(_event.EventOFPGroupDescStatsReply, _MAIN)  # type: ignore[untyped-decorator]
    def on_groups(self, event: Any) -> None:
        found = self._inventories.get(event.msg.datapath.id)
        if found is not None:
            found.groups.update(group.group_id for group in event.msg.body)
            self._complete(event.msg, found, "groups")

    def _complete(self, message: Any, found: _Inventory, part: str) -> None:
        if message.flags & _parts.ofproto.OFPMPF_REPLY_MORE:
            return
        found.missing.discard(part)
        if not found.missing:
            datapath = message.datapath.id
            del self._inventories[datapath]
            self.session.controller.switch_joined(datapath, found.ports, found.cookies, found.groups)
            self._settle()

    @_set_ev_cls(_event.EventOFPPortStatus, _MAIN)  # type: ignore[untyped-decorator]
    def on_port_status(self, event: Any) -> None:
        port, datapath = read_port(_parts, event.msg.desc), event.msg.datapath.id
        if port is None:
            return
        number, up = port
        up = up and event.msg.reason != _parts.ofproto.OFPPR_DELETE
        found = self._inventories.get(datapath)
        if found is not None:
            found.ports[number] = up
            return
        self.session.controller.port_changed(datapath, number, up)
        self._settle()

    @_set_ev_cls(_event.EventOFPBarrierReply, _MAIN)  # type: ignore[untyped-decorator]
    def on_barrier(self, event: Any) -> None:
        datapath = event.msg.datapath.id
        number = self._barriers.pop((datapath, event.msg.xid), None)
        if number is not None:
            self.session.controller.barrier_passed(datapath, number)
            self._settle()

    @_set_ev_cls(_event.EventOFPErrorMsg, _MAIN)  # type: ignore[untyped-decorator]
    def on_error(self, event: Any) -> None:
        switch = self.session.controller.fabric.by_datapath(event.msg.datapath.id)
        if switch is not None:
            self.session.tell(RulesRefused(switch.name, int(event.msg.type), int(event.msg.code)))

    def _settle(self) -> None:
        """Send the commands of the controller, and report its facts. The library would swallow an exception."""
        try:
            self._carry()
        except Exception as error:
            self.session.fail(error)

    def _carry(self) -> None:
        controller = self.session.controller
        while (found := controller.next_command()) is not None:
            number, command = found
            datapath = self._datapaths.get(number)
            if datapath is None:
                continue
            message = make_message(_parts, datapath, command)
            if isinstance(command, Barrier):
                datapath.set_xid(message)
                self._barriers[number, message.xid] = command.number
            datapath.send_msg(message)
        while (fact := controller.next_event()) is not None:
            if isinstance(fact, SwitchLost):
                self._barriers = {key: value for key, value in self._barriers.items() if key[0] in self._datapaths}
            self.session.tell(fact)

    def _ask_counters(self) -> None:
        for number, datapath in list(self._datapaths.items()):
            if number not in self._inventories:
                datapath.send_msg(_parts.parser.OFPFlowDescStatsRequest(datapath))


def _serve(listener: socket.socket) -> None:
    while True:
        connection, address = listener.accept()
        _parts.hub.spawn(_parts.controller.datapath_connection_factory, connection, address)
