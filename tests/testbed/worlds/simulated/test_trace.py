"""`trace: true` adds steps to a history and changes nothing else of it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from switch_nodes.events import ConnectionStepped, FrameStepped, SlotStepped
from switch_nodes.netreduce.tables import CONNECTION_TABLE, FRAME_TABLE, SLOT_TABLE
from testbed.faults.model import Duplicate, Fault, Kill, Loss, Window
from testbed.history import Record
from testbed.plan import make_plan
from testbed.worlds.simulated import simulate
from tests.support.records import held
from tests.support.simulation import of, rack_links, rack_plan
from topologies import DIRECTIONS
from workloads.events import QpStepped
from workloads.rc.requester_table import REQUESTER_TABLE
from workloads.rc.responder_table import RESPONDER_TABLE

STEPS = (QpStepped, SlotStepped, ConnectionStepped, FrameStepped)
LOSS = Loss("loss", rack_links(3), DIRECTIONS, rate=0.03)
TWICE = Duplicate("twice", rack_links(3), DIRECTIONS, rate=0.05)
DEAD = Kill("dead", "s1", Window(1_000_000, 30_000_000))


def histories(faults: tuple[Fault, ...], **job: Any) -> tuple[list[Record], list[Record]]:
    """(untraced, traced)"""
    plan = rack_plan(3, faults=faults, job={"size_bytes": 60_000, "message_packets": 6} | job)
    return simulate(plan), simulate(make_plan(replace(plan.scenario, trace=True)))


@pytest.mark.parametrize("faults", [(), (LOSS,), (LOSS, TWICE), (DEAD,)], ids=["clean", "loss", "twice", "dead"])
@pytest.mark.parametrize("protocol", ["netreduce", "ring"])
def test_a_traced_history_without_its_steps_is_the_untraced_one(faults: tuple[Fault, ...], protocol: str) -> None:
    plain, traced = histories(faults, protocol=protocol)
    assert not of(plain, *STEPS)
    assert [record for record in traced if not isinstance(record.event, STEPS)] == plain
    assert bool(of(traced, SlotStepped)) == (protocol == "netreduce")
    assert of(traced, QpStepped)


def test_steps_are_pairs_of_the_tables() -> None:
    _, traced = histories((LOSS, TWICE))
    tables: dict[str, set[tuple[str, ...]]] = {
        "requester": {(s.name, e.name, step.state.name) for (s, e), step in REQUESTER_TABLE.items()},
        "responder": {(s.name, e.name, step.state.name) for (s, e), step in RESPONDER_TABLE.items()},
        "SlotStepped": {(s.name, e.name, after.name) for (s, e), (after, _) in SLOT_TABLE.items()},
        "ConnectionStepped": {
            (s.name, e.name, after.name, action.name) for (s, e), (after, action) in CONNECTION_TABLE.items()
        },
        "FrameStepped": {(kind.name, action.name) for kind, action in FRAME_TABLE.items()},
    }
    for record in of(traced, *STEPS):
        fields = (held(record, name) for name in ("kind", "state", "cause", "next", "action"))
        told = tuple(value.upper() for value in fields if value is not None)
        assert told in tables[held(record, "side") or record.name], record


def test_each_state_follows_the_one_before() -> None:
    _, traced = histories((LOSS, TWICE))
    last: dict[object, str] = {}
    for record in of(traced, QpStepped, SlotStepped):
        who = record.node, held(record, "qpn"), held(record, "side"), held(record, "slot")
        assert last.get(who, record.event.state) == record.event.state, record
        last[who] = record.event.next
    assert set(last.values()) >= {"idle", "expect_first", "done"}
