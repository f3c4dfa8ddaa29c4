"""Copies of one frame that a filter holds back: each has a charge of its own, and none stays when all have left."""

from __future__ import annotations

from typing import Any

import pytest

from testbed.plan import make_plan
from testbed.scenario import load_scenario
from testbed.worlds.simulated.lossless.switch import LosslessSwitch
from testbed.worlds.simulated.world import Simulation

_COPIES = "{kind: duplicate, links: all, direction: both, rate: 40%}"
_LATE = "{kind: delay, links: all, direction: both, delay: 2ms, jitter: 1ms}"


@pytest.mark.parametrize("faults", [f"[{_COPIES}, {_LATE}]", f"[{_COPIES}]", "[]"])
def test_no_charge_is_left_behind(faults: str) -> None:
    plan = make_plan(load_scenario("pfc-netreduce", ["job.size=60kB", "job.iterations=1", f"faults={faults}"]))
    records = list[Any]()
    simulation = Simulation(plan, records.append)
    simulation.run()
    simulation.advance(simulation.agenda.now + 10**9, lambda: True)
    for node in simulation.nodes.values():
        if isinstance(node, LosslessSwitch):
            assert node.buffer is not None
            left = {key: account.total for key, account in node.buffer.accounts.items() if account.total}
            assert (left, node._held) == ({}, {})
