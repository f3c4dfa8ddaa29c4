import importlib
import importlib.util
import pkgutil
from dataclasses import fields, replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import switch_nodes
import workloads
from switch_nodes.events import MessageAggregated, SlotsAtEnd
from testbed.faults.events import FaultStruck
from testbed.faults.model import Drop, Kill, Loss, Match, Window
from testbed.faults.opcodes import DATA_OPCODES
from testbed.history.events import NodeStarted
from testbed.scenario.keys.clocks import TRUE_CLOCKS, Clocks
from testbed.worlds.simulated import simulate
from testbed.worlds.simulated.clock import INSTANTS, NodeClock, draw_clocks
from tests.support.simulation import digests, expected_digests, of, rack_links, rack_plan
from topologies import Direction
from workloads.events import CollectiveCompleted, Retransmission, WorkerFailed
from workloads.machine import Event

MS = 1_000_000
OFF = Clocks(offset_ns=500 * MS, drift_ppb=10_000_000)
"""1 %: a hundred times what a bad quartz does"""
DURATIONS = {
    "busy_ns",
    "useful_ns",
    "cpu_ns",
    "wall_ns",
    "lag_p99_ns",
    "lag_max_ns",
    "waited_ns",
    "took_ns",
    "stood_ns",
    "starved_ns",
}

clocks = st.builds(NodeClock, st.integers(-(10**12), 10**12), st.integers(-(10**8), 10**8))


def skewed(plan, clocks=OFF):
    return replace(plan, scenario=replace(plan.scenario, clocks=clocks))


@given(clocks, st.integers(0, 10**13))
@example(NodeClock(0, 0), 12345)
def test_a_clock_never_goes_back_and_is_right_to_the_nanosecond(clock, time):
    assert clock.local(time) <= clock.local(time + 1)
    assert (clock.local(time) - clock.offset_ns) * 10**9 <= time * (10**9 + clock.drift_ppb)
    assert time * (10**9 + clock.drift_ppb) < (clock.local(time) - clock.offset_ns + 1) * 10**9
    if (clock.offset_ns, clock.drift_ppb) == (0, 0):
        assert clock.local(time) == time


@given(clocks, st.integers(-(10**13), 10**13))
def test_an_alarm_goes_off_at_the_first_time_at_which_it_is_due(clock, due):
    at = clock.world(due)
    assert clock.local(at) >= due > clock.local(at - 1)


@given(clocks, st.integers(0, 10**13))
def test_what_a_clock_showed_tells_when_that_was(clock, time):
    found = clock.world(clock.local(time))
    assert clock.local(found) == clock.local(time)
    assert time - 1 <= found <= time
    if clock.drift_ppb >= 0:
        assert found == time


def test_each_node_draws_its_own_from_the_seed():
    names = [f"h{number}" for number in range(1, 33)]
    drawn = draw_clocks(OFF, 1, names)
    assert list(drawn) == names
    assert len(set(drawn.values())) == 32
    for of_all, within in (
        ([clock.offset_ns for clock in drawn.values()], OFF.offset_ns),
        ([clock.drift_ppb for clock in drawn.values()], OFF.drift_ppb),
    ):
        assert -within <= min(of_all) < -within // 2 < within // 2 < max(of_all) <= within
    assert draw_clocks(OFF, 1, ["h7"])["h7"] == drawn["h7"]
    assert draw_clocks(OFF, 2, names) != drawn
    assert draw_clocks(TRUE_CLOCKS, 1, names) == {}


def identities(records):
    names = ("fault", "target", "direction", "flow", "opcode", "psn", "occurrence")
    return {tuple(getattr(record.event, name) for name in names) for record in of(records, FaultStruck)}


def dropping(hosts=3):
    """Drops of data that strike the same packets whatever is sent again when."""
    first = Drop("data", rack_links(hosts), (Direction.UP,), match=Match(DATA_OPCODES, message=1, packet=3, attempt=1))
    last = Drop("tail", ("h2-s1",), (Direction.UP,), match=Match(DATA_OPCODES, message=2, packet=-1, attempt=1))
    return rack_plan(
        hosts, faults=(first, last), job={"size_bytes": 100_000, "message_packets": 16}, transport={"timeout_code": 12}
    )


@pytest.mark.parametrize("kind", ["netreduce", "ring", "shift"])
def test_sums_do_not_depend_on_the_clocks(kind):
    loss = Loss("loss", rack_links(3), rate=0.02)
    job = {"protocol": kind, "size_bytes": 60_000, "message_packets": 16, "iterations": 2}
    plan = rack_plan(3, faults=(loss,), job=job)
    records = simulate(skewed(plan))
    assert digests(records) == expected_digests(plan)
    assert of(records, FaultStruck)
    assert records != simulate(plan)


def test_identity_faults_strike_the_same_packets_and_each_contribution_counts_once():
    plan = dropping()
    true, off = simulate(plan), simulate(skewed(plan))
    assert digests(off) == digests(true) == expected_digests(plan)
    assert identities(off) == identities(true)
    assert len(identities(true)) == 4
    for records in (true, off):
        sums = of(records, MessageAggregated)
        assert sums
        assert all(set(record.event.contributions) == {record.event.packets} for record in sums)
        assert [record.event.open for record in of(records, SlotsAtEnd)] == [0]


def test_a_timeout_takes_as_long_as_the_clock_of_its_node_says():
    """h1 loses its last packet and nothing follows it: only its own timer can help."""
    drop = Drop("tail", ("h1-s1",), (Direction.UP,), match=Match(DATA_OPCODES, message=1, packet=-1, attempt=1))
    plan = rack_plan(2, faults=(drop,), job={"size_bytes": 400}, transport={"timeout_code": 14})
    rto = 4096 << 14

    def waited(plan):
        records = simulate(plan)
        (resent,) = [r for r in of(records, Retransmission) if r.node == "h1"]
        (struck,) = of(records, FaultStruck)
        assert resent.event.cause == "timeout"
        assert digests(records) == expected_digests(plan)
        return resent.t - struck.t

    true = waited(plan)
    assert rto - MS < true <= rto
    for seed_of_clock in range(3):
        off = Clocks(drift_ppb=100_000_000 - seed_of_clock)
        drift = draw_clocks(off, plan.scenario.seed, ["h1"])["h1"].drift_ppb
        scaled = rto * 10**9 / (10**9 + drift)
        assert abs(drift) > 10_000
        assert abs(waited(skewed(plan, off)) - (true - rto) - scaled) <= 2


def test_times_in_the_history_are_those_of_the_world():
    plan = skewed(rack_plan(3, job={"size_bytes": 100_000}), Clocks(offset_ns=3_600_000 * MS))
    records = simulate(plan)
    true = simulate(skewed(plan, TRUE_CLOCKS))
    assert [r.t for r in records] == sorted(r.t for r in records)
    # Offsets alone change nothing that an outsider could see.
    assert records == true
    whole = {record.node: record.event.completed_ns for record in of(true, CollectiveCompleted)}
    for record in of(simulate(skewed(plan, OFF)), CollectiveCompleted):
        assert abs(record.event.completed_ns - whole[record.node]) < whole[record.node] // 50


def test_a_restarted_node_has_the_same_clock():
    kill = Kill("kill", "s1", Window(5 * MS, 15 * MS))
    plan = rack_plan(3, faults=(kill,), job={"size_bytes": 400_000}, transport={"timeout_code": 11})
    records = simulate(skewed(plan))
    assert len(of(records, WorkerFailed)) == 3
    assert [record.t for record in of(records, NodeStarted)] == [0, 0, 0, 0, 15 * MS]


def test_every_time_that_a_machine_tells_is_known():
    """A new event with a time in it must be entered in INSTANTS, or be a duration."""
    has_torch = importlib.util.find_spec("torch") is not None
    # By name: a class with slots stands beside the one that it was made from.
    for package in (workloads, switch_nodes):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            # Its modules need torch, which is an extra.
            if has_torch or not module.name.startswith("workloads.torch_backend."):
                importlib.import_module(module.name)
    told = {
        (kind.__name__, item.name)
        for kind in Event.__subclasses__()
        if kind.__module__.split(".")[0] in ("workloads", "switch_nodes")
        for item in fields(kind)
        if item.name.endswith(("_ns", "_at", "_time"))
    }
    assert {(kind, name) for kind, name in told if name not in DURATIONS} == {
        (kind.__name__, name) for kind, names in INSTANTS.items() for name in names
    }
