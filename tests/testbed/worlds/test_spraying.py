"""Fabrics that spray, in both worlds: packets overtake each other, nothing is lost, and sums are right."""

from __future__ import annotations

from pathlib import Path

import pytest

from testbed.checkers.context import CheckContext
from testbed.faults.events import FaultStruck
from testbed.figures.metrics import metrics
from testbed.history import Record
from testbed.plan import Plan, make_plan
from testbed.runs.run import run_scenario
from testbed.scenario import load_scenario
from testbed.worlds.simulated.world import Simulation
from tests.support.emulated import needs_root
from tests.support.passing import assert_passes
from tests.support.simulation import digests, expected_digests

NETREDUCE = {"job.protocol": "netreduce", "switch.program": "netreduce"}


def run(plan: Plan, *, native: bool) -> list[Record]:
    records: list[Record] = []
    Simulation(plan, records.append, native=native).run()
    return records


@pytest.mark.parametrize("world", ["simulated", pytest.param("emulated", marks=needs_root)])
@pytest.mark.parametrize("over", [{}, NETREDUCE], ids=["ring", "netreduce"])
def test_sums_are_right_and_every_check_holds(over: dict[str, str], world: str, tmp_path: Path) -> None:
    text = [f"{key}={value}" for key, value in over.items()]
    outcome = run_scenario(load_scenario("irn-ring-sprayed", [*text, "job.size=100kB"], world=world), tmp_path / "run")
    assert_passes(outcome.document)
    if world == "simulated":  # in real time answers may happen to keep their order
        assert outcome.document["metrics"]["retransmissions"]["spurious"] > 0


@pytest.mark.parametrize("native", [True, False])
def test_without_loss_reordering_alone_makes_irn_send_again(native: bool) -> None:
    """And the path of a flow does not."""
    spurious = {}
    for multipath in ("flow", "spray"):
        plan = make_plan(
            load_scenario("irn-ring-sprayed", [f"topology.multipath={multipath}", "job.size=60kB"], world="simulated")
        )
        records = run(plan, native=native)
        assert digests(records) == expected_digests(plan)
        assert not [record for record in records if isinstance(record.event, FaultStruck)]
        again = metrics(CheckContext(plan, tuple(records)))["retransmissions"]
        assert again["spurious"] == again["packets"]
        spurious[multipath] = again["spurious"]
    assert spurious["flow"] == 0 < spurious["spray"]


def test_spraying_is_the_same_with_and_without_the_compiled_loop() -> None:
    plan = make_plan(load_scenario("irn-ring-sprayed", ["job.size=60kB", "transport.recovery=gbn"], world="simulated"))
    assert run(plan, native=True) == run(plan, native=False)
