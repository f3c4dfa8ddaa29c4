"""Copies of one frame that a filter holds back: each has a charge of its own, and none stays when all have left."""

from __future__ import annotations

from typing import Any

import pytest

from testbed.plan import make_plan
from testbed.scenario import load_scenario
from testbed.worlds.simulated.lossless.charge import Charge
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


def test_the_copy_that_leaves_first_takes_the_charge_that_is_its_own() -> None:
    """Found by a hunt: one object was held for two copies, and its first copy released the charge of the second."""
    switch = next(
        node
        for node in Simulation(make_plan(load_scenario("pfc-netreduce", [])), list[Any]().append).nodes.values()
        if isinstance(node, LosslessSwitch)
    )
    assert switch.buffer is not None
    account, frame = next(iter(switch.buffer.accounts.values())), bytes(100)
    late, early, elsewhere = (Charge(account, 100, lambda charge: None) for _ in range(3))
    for until, port, charge in ((300, 0, late), (100, 0, early), (200, 1, elsewhere)):
        switch._offered = charge
        switch._hold(until, port, frame, True)
    assert [switch._take_held(port, frame) for port in (1, 1, 0, 0, 0)] == [elsewhere, None, early, late, None]
