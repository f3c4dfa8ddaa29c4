"""Whatever a peer sends, no Machine raises (house rule): every host and every switch program, in runs whose nodes are
all lied to."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from switch_nodes.registry import create_program
from testbed.history import Record
from testbed.history.codec import record_fields
from testbed.plan import make_plan
from testbed.scenario import load_scenario
from testbed.worlds.simulated.world import Simulation
from tests.support.hostile import Attacked
from workloads.hosts import create_host

SMALL = "job.size=40kB"
SCENARIOS = {
    "rack": (SMALL, "job.message_packets=8"),
    "rack-send": (SMALL, "job.message_packets=8"),
    "receiver-not-ready": (),
    "ring": (SMALL,),
    "shift": (SMALL,),
    "spine-leaf": (SMALL, "job.message_packets=8"),
    "accelerator": (SMALL, "job.message_packets=8"),
    "congested": (),
    "hierarchical": ("job.size=60kB", "job.message_packets=8"),
    "switchml": (SMALL,),
    "switchml-uc": (SMALL,),
    "switchml-two-jobs": (),
    "atp": (SMALL,),
    "atp-two-jobs": (),
    "esa": (SMALL,),
    "esa-scarce": (),
    "grid": (SMALL,),
    "grid-atp": (SMALL,),
}


@pytest.mark.parametrize("name", SCENARIOS)
@settings(max_examples=4, deadline=None)
@given(seed=st.integers(0, 1 << 32))
def test_no_machine_raises_on_what_a_peer_sends(name: str, seed: int) -> None:
    """And what it tells of it is fit for a history."""
    plan = make_plan(load_scenario(name, ["time_limit=300ms", *SCENARIOS[name]], 1, "simulated"))
    attacked: list[Attacked] = []

    def under_attack(machine, ports: int) -> Attacked:
        attacked.append(Attacked(machine, seed + len(attacked), ports))
        return attacked[-1]

    records: list[Record] = []
    simulation = Simulation(
        plan, records.append,
        create=lambda config: under_attack(create_program(config), config.ports),
        employ=lambda config, start: under_attack(create_host(config, start), 1),
        native=False,
    )  # fmt: skip
    simulation.run()
    assert sum(machine.fed for machine in attacked) > 5
    json.dumps([record_fields(record) for record in records])
