"""A host whose receive queue is full, and which has a pause storm: the switch goes on when both are over."""

from __future__ import annotations

from typing import Any

from testbed.history.pfc_events import PfcDropped
from testbed.plan import make_plan
from testbed.scenario import load_scenario
from testbed.worlds.simulated.world import Simulation

_STORM = "faults=[{kind: pause_storm, node: h1, from: %s, until: %s}]"
_SLOW = ("pfc.receivers={h1: 20Mbps}", "pfc.receive_queue=4kB", "pfc.quanta=2000", "job.size=100kB")


def drops(*changes: str) -> list[Any]:
    plan = make_plan(load_scenario("pfc-netreduce", [*_SLOW, "capture=false", *changes]))
    records = list[Any]()
    Simulation(plan, records.append).run()
    return [record for record in records if isinstance(record.event, PfcDropped)]


def test_the_end_of_a_storm_does_not_free_a_full_queue() -> None:
    assert drops() == []
    for start in range(2_000, 30_000, 1_700):
        assert drops(_STORM % (f"{start}us", f"{start + 300}us")) == []
