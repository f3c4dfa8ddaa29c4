"""`tb steering`: the tables of the commodity switches, planned or as the controller read them last."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from switch_nodes.events import RulesReplaced
from switch_nodes.routes.rules import flow_rules
from testbed.history import Record
from testbed.plan import make_plan
from testbed.plan.commodity import commodity_switches
from testbed.reading.problems import closest
from testbed.runs.kepthistory import load_history
from testbed.scenario import load_scenario
from testbed.steering.entries import make_table
from testbed.steering.events import ControllerReady, RulesInstalled, SwitchLost
from testbed.steering.fabric import make_fabric
from testbed.steering.readings import READINGS_NAME, TableReading, TableRow, make_rows
from testbed.terminal.standard import print_document
from testbed.terminal.stream import columns, say
from testbed.terminal.tables import table_lines
from workloads.errors import ScenarioError

__all__ = ["run_steering"]

_FACTS = (ControllerReady, RulesInstalled, RulesReplaced, SwitchLost)


def run_steering(args: argparse.Namespace) -> int:
    folder = Path(args.what)
    facts: list[Record] = []
    if folder.is_dir():
        if args.down or args.overrides:
            raise ScenarioError("a run directory holds what was", file="--down" if args.down else "--set")
        tables, facts = _recorded(folder)
    else:
        tables = _planned(args.what, args.overrides, args.down)
    if args.json:
        print_document(json.dumps({"schema": 1, "switches": [asdict(table) for table in tables]}, indent=2))
    else:
        say(*_text(tables, columns(sys.stdout)), *(_fact(fact) for fact in facts))
    return 0


def _planned(name: str, overrides: list[str], down: Iterable[str]) -> list[TableReading]:
    plan = make_plan(load_scenario(name, overrides))
    names = commodity_switches(plan)
    if not names and not plan.routing:
        raise ScenarioError(
            "no switch of this scenario is a commodity switch",
            file=name,
            key="switch",
            allowed="topology.kind: rack_accelerator, or switch.program: forward",
        )
    fabric = make_fabric(plan.scenario.topology, [config for config in plan.switches if config.name in names])
    ports = {switch.name: switch.ports for switch in fabric.switches}
    dead = {_port(word, ports) for word in down}
    found = fabric.tables(dead)
    routed = [(config.name, config.grid.orders[0].routes) for config in plan.switches if config.grid is not None]
    return [
        TableReading(name, (), False, make_rows(make_table(flow_rules(routes), (), 0))) for name, routes in routed
    ] + [
        TableReading(
            switch.name,
            tuple(sorted(port for node, port in dead if node == switch.name)),
            fabric.falls_back(switch, dead),
            make_rows(found[switch.name]),
        )
        for switch in fabric.switches
    ]


def _port(word: str, ports: dict[str, int]) -> tuple[str, int]:
    name, _, number = word.partition(":")
    if name not in ports or not number.isdecimal() or int(number) >= ports[name]:
        allowed = ", ".join(f"{node}:0 .. {node}:{count - 1}" for node, count in ports.items())
        hint = closest(name, ports) if name not in ports else None
        raise ScenarioError(
            "no such port of a commodity switch", file="--down", found=repr(word), allowed=allowed, hint=hint
        )
    return name, int(number)


def _recorded(folder: Path) -> tuple[list[TableReading], list[Record]]:
    facts = []
    path = folder / "history.jsonl"
    if path.is_file() and path.stat().st_size:  # of a run that goes on it may be empty
        history = load_history(folder)
        if history.cut:
            print(f"tb: {history.path}: {history.cut}; what came later is not shown", file=sys.stderr)
        facts = [record for record in history.records if isinstance(record.event, _FACTS)]
    readings = folder / READINGS_NAME
    if readings.exists():
        return _readings(readings), facts
    scenario = folder / "scenario.yaml"
    if not scenario.exists():
        raise ScenarioError("is no run directory", file=str(folder), allowed="a folder with scenario.yaml")
    return _planned(str(scenario), [], ()), facts


def _readings(path: Path) -> list[TableReading]:
    """Raises ScenarioError for a file that no run wrote so."""
    try:
        document = json.loads(path.read_bytes())
        return [_reading(switch) for switch in document["switches"]]
    except (ValueError, TypeError, KeyError, RecursionError, OSError) as error:
        found = f"no {error}" if isinstance(error, KeyError) else str(error)
        raise ScenarioError(
            "is not what a run read from its tables", file=str(path), found=found, allowed="as a run wrote it"
        ) from error


def _reading(data: dict[str, Any]) -> TableReading:
    rows = tuple(TableRow(**row) for row in data["rows"])
    table = TableReading(data["switch"], tuple(data["down"]), data["fallback"], rows)
    for row in rows:
        texts, counts = (row.name, row.match, row.action), (row.packets, row.bytes)
        if not all(isinstance(text, str) for text in texts) or not all(isinstance(n, int | None) for n in counts):
            raise TypeError(f"a row with other values: {row}"[:200])
    if not isinstance(table.switch, str):
        raise TypeError(f"a switch named {table.switch!r}"[:200])
    return table


def _text(tables: Iterable[TableReading], width: int) -> Iterator[str]:
    for table in tables:
        state = [f"ports down: {', '.join(map(str, table.down))}"] if table.down else []
        state += ["fallback: no data is led to the accelerator"] if table.fallback else []
        yield f"{table.switch}{': ' if state else ''}{'; '.join(state)}"
        rows = [
            (row.name, str(row.priority), row.match, row.action, _count(row.packets), _count(row.bytes))
            for row in table.rows
        ]
        shown = 6 if any(row.packets is not None for row in table.rows) else 4
        head = ("rule", "priority", "match", "action", "packets", "bytes")[:shown]
        yield from table_lines(head, [row[:shown] for row in rows], width, text=range(4))
        yield ""


def _count(value: int | None) -> str:
    return "-" if value is None else f"{value:,}"


def _fact(record: Record) -> str:
    at, event = f"{record.t / 1e9:8.3f} s  {record.node}: ", record.event
    if isinstance(event, ControllerReady):
        return f"{at}{event.library} controls {', '.join(event.switches)}"
    if isinstance(event, SwitchLost):
        return f"{at}lost its controller's connection; it goes on by the rules that it has"
    assert isinstance(event, RulesInstalled | RulesReplaced)
    fallback = ", the fallback" if event.fallback else ""
    if isinstance(event, RulesReplaced):
        return f"{at}{event.reason}: {event.rules} rules{fallback}"
    changes = f"{event.kept} entries kept, {event.added} added, {event.removed} removed"
    return f"{at}{event.reason}: {changes}{fallback}"
