"""When worlds look, and that looking in virtual time changes nothing."""

from __future__ import annotations

import pytest

from switch_nodes.events import SwitchSampled
from testbed.history import Record, of_kind
from testbed.history.events import QueuesSampled, ShapingMeasured
from testbed.plan import Plan, make_plan
from testbed.scenario import load_scenario
from testbed.worlds.sampling import Sampler, port_names, sample_interval_ns
from testbed.worlds.simulated.world import Simulation

MS = 1_000_000


def plan_of(name: str, *changes: str) -> Plan:
    return make_plan(load_scenario(name, changes, None, "simulated"))


def told(plan: Plan, sample_ns: int, *, native: bool = True) -> list[Record]:
    records: list[Record] = []
    Simulation(plan, records.append, native=native, sample_ns=sample_ns).run()
    return records


def test_an_interval_is_a_hundredth_of_the_time_on_the_slowest_link() -> None:
    # 8 Mbit at 100 Mbit/s take 80 ms; a hundredth is 0.8 ms, and 1 ms the next round interval.
    assert sample_interval_ns(plan_of("rack", "job.size=1MB", "job.iterations=1", "topology.link.rate=100Mbps")) == MS
    assert sample_interval_ns(plan_of("rack", "sample_every=3ms")) == 3 * MS
    assert sample_interval_ns(plan_of("rack", "sample_every=0")) == 0


def test_the_interval_doubles_with_every_200_looks() -> None:
    sampler = Sampler(10)
    due = []
    for _ in range(402):
        due.append(sampler.due_ns)
        sampler.looked(0)
    assert due[:3] == [10, 20, 30]
    assert due[199:202] == [2000, 2020, 2040]
    assert due[-1] - due[-2] == 40


def test_no_look_while_nothing_changes() -> None:
    sampler = Sampler(10)
    sampler.looked(995)
    assert sampler.due_ns == 1000


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("rack-lossy", ("job.size=100kB",)),
        ("congested", ("job.size=200kB", "topology.link.ecn_threshold=5")),
        ("switchml-lossy", ("job.size=40kB",)),
        ("dead-link", ("job.size=100kB", "faults.cut.from=5ms", "transport.timeout=10")),
        ("spine-leaf", ("job.size=100kB",)),
    ],
)
def test_a_look_changes_nothing_else(name: str, changes: tuple[str, ...]) -> None:
    plan = plan_of(name, *changes)
    with_looks = told(plan, MS // 2)
    assert of_kind(with_looks, QueuesSampled)
    assert [record for record in with_looks if not record.name.endswith("Sampled")] == told(plan, 0)


@pytest.mark.parametrize("name", ["rack-lossy", "congested"])
def test_the_compiled_loop_is_looked_at_as_the_reference(name: str) -> None:
    plan = plan_of(name, "job.size=100kB")
    assert told(plan, MS // 2) == told(plan, MS // 2, native=False)


def test_looks_find_queues_slots_and_marks() -> None:
    plan = plan_of("congested", "job.size=200kB", "topology.link.ecn_threshold=5")
    records = told(plan, MS // 10)
    looks, switches = of_kind(records, QueuesSampled), of_kind(records, SwitchSampled)
    topology = plan.scenario.topology
    names = {name for switch in topology.switches for name in port_names(topology, switch.name).values()}
    waiting = [frames for look in looks for frames in look.event.waiting.values()]
    assert max(waiting) >= 5
    assert {name for look in looks for name in look.event.waiting} <= names
    # Each counter grows to what the link tells at the end, but for what was marked after the last look.
    ends = [record.event for record in of_kind(records, ShapingMeasured)]
    marked = {f"{end.link} {end.direction}": end.marks for end in ends}
    last = switches[-1].event.marks
    assert any(last.values())
    assert all(count <= marked[name] for name, count in last.items())
    assert max(record.event.slots_in_use or 0 for record in switches) > 0


@pytest.mark.parametrize("name", ["switchml", "atp", "esa", "rack"])
def test_every_program_with_memory_tells_its_slots(name: str) -> None:
    records = told(plan_of(name, "job.size=40kB", "topology.links.h1-s1.rate=70Mbps"), MS // 20)
    found = [record.event.slots_in_use for record in of_kind(records, SwitchSampled)]
    assert max(slots or 0 for slots in found) > 0


def test_the_key_keeps_no_run_from_the_compiled_loop() -> None:
    keys = ("sample_every=3ms", "capture=true")
    ours, others = (Simulation(plan_of("rack", key), lambda record: None) for key in keys)
    assert ours.event_loop == others.event_loop
