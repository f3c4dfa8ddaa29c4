"""PFC that is never needed changes nothing: histories are as with plain wires and switches, but for its own reports."""

from __future__ import annotations

from typing import Any

import pytest

from testbed.history.pfc_events import BufferMeasured
from testbed.plan import make_plan
from testbed.scenario import load_scenario
from testbed.worlds.simulated.world import Simulation

_BIG = "pfc={model: dynamic, buffer: 4GiB}"


def told(name: str, *changes: str) -> list[Any]:
    plan = make_plan(load_scenario(name, ["job.size=60kB", *changes], world="simulated"))
    records = list[Any]()
    Simulation(plan, records.append, native=False).run()
    return [record for record in records if not isinstance(record.event, BufferMeasured)]


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("rack", ()),
        ("rack-lossy", ()),
        ("irn-lossy", ()),
        ("ring", ("topology.link.delay=7us",)),
        ("spine-leaf-lossy", ("topology.link.delay=7us",)),
        ("switchml-lossy", ()),
        ("atp-lossy", ()),
        ("ps-lossy", ()),
        ("accelerator-lossy", ()),
        ("shift", ("topology.link.priority=layers",)),
        ("ring", ("topology.link.ecn_threshold=3", "transport.congestion_control=dcqcn")),
    ],
)
def test_the_history_is_the_same(name: str, changes: tuple[str, ...]) -> None:
    assert told(name, *changes, _BIG) == told(name, *changes)
