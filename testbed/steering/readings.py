"""The table of one switch as people read it, with what each rule has counted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from testbed.steering.controller import Controller
from testbed.steering.entries import FlowEntry, GroupEntry, MatchValue, Table
from testbed.steering.fabric import CommoditySwitch

__all__ = ["READINGS_NAME", "TableReading", "TableRow", "make_rows", "read_table"]

READINGS_NAME = "steering.json"
"""name of the file in a run directory: what the controller read last"""


@dataclass(frozen=True, slots=True)
class TableRow:
    name: str
    priority: int
    match: str
    action: str
    packets: int | None = None
    """since the entry was installed; None: the switch has not said"""
    bytes: int | None = None


@dataclass(frozen=True, slots=True)
class TableReading:
    switch: str
    down: tuple[int, ...]
    fallback: bool
    rows: tuple[TableRow, ...]


def read_table(
    controller: Controller, switch: CommoditySwitch, counters: Mapping[int, tuple[int, int]]
) -> TableReading:
    down = controller.down(switch)
    fallback = controller.fabric.falls_back(switch, [(switch.name, port) for port in down])
    return TableReading(switch.name, down, fallback, make_rows(controller.table(switch), counters))


def make_rows(table: Table, counters: Mapping[int, tuple[int, int]] | None = None) -> tuple[TableRow, ...]:
    groups = {group.number: group for group in table.groups}
    rows = []
    for flow in sorted(table.flows, key=lambda flow: -flow.priority):
        packets, size = (counters or {}).get(flow.cookie, (None, None))
        rows.append(TableRow(flow.name, flow.priority, _match(flow.match), _action(flow, groups), packets, size))
    return tuple(rows)


def _match(fields: Iterable[tuple[str, MatchValue]]) -> str:
    """Ports as the rest of the testbed counts them, from 0; what a later field implies is left out."""
    shown = {name: value for name, value in fields if name not in ("eth_type", "ip_proto")}
    parts = []
    for name, value in shown.items():
        if name == "in_port":
            value = int(str(value)) - 1
        parts.append(f"{name}={'/'.join(value) if isinstance(value, tuple) else value}")
    return " ".join(parts) or "any"


def _action(flow: FlowEntry, groups: Mapping[int, GroupEntry]) -> str:
    if flow.group:
        return f"one of {_ports(groups[flow.group].ports)}"
    return _ports(flow.ports) if flow.ports else "drop"


def _ports(ports: Iterable[int]) -> str:
    return "port " + ", ".join(str(port - 1) for port in ports)
