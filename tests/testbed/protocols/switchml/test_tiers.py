"""SwitchML over two tiers: its plan, its sums under whatever the network does, its time, and broken switches found by
the checkers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from testbed.checkers import CheckContext, run_checks
from testbed.faults.events import FaultStruck
from testbed.figures.metrics import metrics
from testbed.history import Record, sort_history
from testbed.history.verdict import Verdict
from testbed.plan import Plan, make_plan
from testbed.plan.paths import booked_shares, data_flows, data_paths
from testbed.scenario import load_scenario
from testbed.worlds.simulated import simulate
from tests.support.emulated import needs_root
from tests.support.simulation import digests, of
from tests.support.switchml_tier_cases import MUTANTS
from tests.support.worlds import assert_same_sums
from topologies import Direction
from workloads.datagrams.blocks import BlockReplayed, BlockSummed, ContributionIgnored, PartialSent
from workloads.events import CollectiveCompleted, CollectiveStarted, DatagramResent

NAME = "switchml-spine-leaf-lossy"
CALM = ("faults=[]", "job.size=20kB", "job.iterations=2")
_SECOND = 1_000_000_000


def plan_of(*changes: str, seed: int = 1) -> Plan:
    return make_plan(load_scenario(NAME, changes, seed, "simulated"))


def fabric(racks: Sequence[int], spines: int = 1, more: str = "") -> str:
    return f"topology={{kind: spine_leaf, leaves: {len(racks)}, spines: {spines}, hosts_per_leaf: {list(racks)}{more}}}"


def judge(plan: Plan, history: list[Record]) -> dict[str, Verdict]:
    return {result.name: result.verdict for result in run_checks(CheckContext(plan, sort_history(history))).results}


def faults_on_all(*kinds: str) -> str:
    return "faults=[" + ", ".join(f"{{{kind}, links: all, direction: both}}" for kind in kinds) + "]"


@pytest.mark.parametrize(
    "changes",
    [
        (fabric([1, 1]),), (fabric([3, 2, 1]), "job.dtype=int32"), (fabric([1] * 8, 2), "transport.path_mtu=256"),
        (fabric([31, 1]), "job.size=2000B"), (fabric([2, 2]), "job.size=4B"), (fabric([2, 2]), "switch.memory=2"),
        (fabric([2, 2]), "job.straggler={rank: 1, delay: 30ms}"), (fabric([2, 2], 2), "topology.multipath=spray"),
        (fabric([2, 2], 2), "job.copies=2"), (fabric([4, 4], 2), "job.copies=4"),
    ],
    ids=str,
)  # fmt: skip
def test_every_worker_holds_the_references_bits(changes: tuple[str, ...]) -> None:
    plan = plan_of(*CALM, *changes)
    history = simulate(plan)
    assert set(judge(plan, history).values()) == {Verdict.PASS}
    assert len(digests(history)) == 2 * len(plan.workers)


@pytest.mark.parametrize("seed", range(4))
def test_whatever_the_network_does_on_either_tier(seed: int) -> None:
    kinds = ("kind: loss, rate: 5%", "kind: duplicate, rate: 10%, delay: 9ms", "kind: reorder, rate: 5%, delay: 7ms")
    plan = plan_of(faults_on_all(*kinds), "job.size=60kB", "trace=true", fabric([2, 1, 1]), seed=seed)
    history = simulate(plan)
    assert set(judge(plan, history).values()) == {Verdict.PASS}
    struck = {record.event.target for record in of(history, FaultStruck)}
    assert struck == {link.name for link in plan.scenario.topology.links}
    assert {record.node for record in of(history, BlockReplayed)} == {"leaf1", "leaf2", "leaf3", "spine1"}
    ignored = {(record.node, record.event.reason) for record in of(history, ContributionIgnored)}
    assert {(node, reason) for node in ("leaf1", "spine1") for reason in ("duplicate", "stale")} <= ignored
    assert {record.event.reason for record in of(history, PartialSent)} == {"complete", "repeated"}
    values = metrics(CheckContext(plan, sort_history(history)))
    assert values["replayed_results"] == len(of(history, BlockReplayed))


@pytest.mark.parametrize(
    ("link", "way", "resend", "replay"),
    [
        ("h1-leaf1", "up", {"h1", "h2", "h3", "h4"}, None), ("leaf1-spine1", "up", {"h1", "h2", "h3", "h4"}, None),
        ("leaf1-spine1", "down", {"h1", "h2"}, {"spine1"}), ("h1-leaf1", "down", {"h1"}, {"leaf1"}),
    ],
)  # fmt: skip
def test_one_loss_on_each_hop(link: str, way: str, resend: set[str], replay: set[str] | None) -> None:
    """The timers of those run out that get no sum. Behind a lost sum, the node before the loss answers again."""
    match = f"match: {{kind: {'data' if way == 'up' else 'result'}, sequence: 1, attempt: 1}}"
    fault = f"faults=[{{kind: drop, links: {link}, direction: {way}, {match}}}]"
    plan = plan_of(fault, "job.size=1000B", "job.iterations=1", "job.dtype=int32", fabric([2, 2]))
    history = simulate(plan)
    assert set(judge(plan, history).values()) == {Verdict.PASS}
    assert {record.node for record in of(history, DatagramResent)} == resend
    if replay is not None:
        assert {record.node for record in of(history, BlockReplayed)} == replay
    (summed,) = of(history, BlockSummed)
    assert (summed.node, summed.event.contributions) == ("spine1", (1, 1, 1, 1))


def test_jobs_take_one_spine_after_the_other_and_a_rack_alone_needs_none() -> None:
    jobs = "jobs=[{hosts: [h1, h4]}, {hosts: [h2, h5]}, {hosts: [h3, h6]}]"
    plan = plan_of(*CALM, fabric([3, 3], 2), jobs)
    at = {switch.name: [job.job for job in switch.jobs] for switch in plan.switches}
    assert at == {"leaf1": [1, 2, 3], "leaf2": [1, 2, 3], "spine1": [1, 3], "spine2": [2]}
    alone = plan_of(*CALM, fabric([2, 2]), "jobs=[{hosts: [h1, h2]}, {hosts: [h3, h4]}]")
    places = {switch.name: [(job.job, job.levels) for job in switch.jobs] for switch in alone.switches}
    assert places == {"leaf1": [(1, None)], "leaf2": [(2, None)], "spine1": []}
    for each in (plan, alone):
        assert set(judge(each, simulate(each)).values()) == {Verdict.PASS}


def test_ranks_may_change_racks_as_they_like() -> None:
    plan = plan_of(*CALM, fabric([2, 2]), "jobs=[{hosts: [h1, h3, h2, h4]}]")
    (job,) = plan.switches[-1].jobs
    assert job.levels is not None
    assert job.levels.racks == ((0, 2), (1, 3))
    history = simulate(plan)
    assert set(judge(plan, history).values()) == {Verdict.PASS}
    assert {record.event.bitmap for record in of(history, PartialSent)} == {0b0101, 0b1010}


def test_a_switch_of_a_custom_topology_can_be_the_root() -> None:
    topology = (
        "topology={kind: custom, nodes: [{name: a, role: host}, {name: b, role: host}, {name: c, role: host}, "
        "{name: one, role: switch}, {name: two, role: switch}, {name: top, role: switch}], "
        "links: [{ends: [a, one]}, {ends: [b, one]}, {ends: [c, two]}, {ends: [one, top]}, {ends: [two, top]}]}"
    )
    plan = plan_of(*CALM, topology)
    history = simulate(plan)
    assert set(judge(plan, history).values()) == {Verdict.PASS}
    assert {record.node for record in of(history, BlockSummed)} == {"top"}


def test_paths_go_to_the_root_and_a_rack_loads_its_uplink_once() -> None:
    plan = plan_of(*CALM, fabric([3, 2], 2))
    paths = {worker.name: path for worker, path in data_paths(plan)}
    up = Direction.UP
    assert paths["h1"] == (("h1-leaf1", up), ("leaf1-spine1", up))
    assert paths["h5"] == (("h5-leaf2", up), ("leaf2-spine1", up))
    uplinks = {("leaf1-spine1", up), ("leaf2-spine1", up)}
    assert {use: flows for use, flows in data_flows(plan).items() if use in uplinks} == dict.fromkeys(uplinks, 1.0)
    assert {share for use, share in booked_shares(plan).items() if use in uplinks} == {1.0}


def wire_ns(plan: Plan, link: str) -> float:
    rate = plan.scenario.topology.link(link).shape.rate_bps
    return 8 * plan.workers[0].framing.frame_bytes * _SECOND / rate


@pytest.mark.parametrize("window", [2, 4, 256])
@pytest.mark.parametrize("uplink", [50, 100, 400])
@pytest.mark.parametrize("delay_us", [0, 200])
def test_the_all_reduce_takes_what_the_closed_form_says(window: int, uplink: int, delay_us: int) -> None:
    """Blocks follow one another as fast as the slowest link, or the window of a round trip, lets them."""
    shape = f", link: {{rate: 100Mbps, delay: {delay_us}us}}, uplink: {{rate: {uplink}Mbps, delay: {delay_us}us}}"
    plan = plan_of(
        "faults=[]", fabric([3, 2], 1, shape), "job.size=256kB", "job.iterations=1", "job.dtype=int32",
        "switch.memory=1024", f"job.window_packets={window}",
    )  # fmt: skip
    history = simulate(plan)
    assert set(judge(plan, history).values()) == {Verdict.PASS}
    begin = min(record.t for record in of(history, CollectiveStarted))
    end = max(record.event.completed_ns for record in of(history, CollectiveCompleted))
    link, up = wire_ns(plan, "h1-leaf1"), wire_ns(plan, "leaf1-spine1")
    round_trip = 2 * (link + up) + 4 * 1000 * delay_us
    blocks = 250
    expected = round_trip + (blocks - 1) * max(link, up, round_trip / window)
    assert end - begin == pytest.approx(expected, rel=0.05)


@pytest.mark.parametrize(
    ("name", "check"),
    [
        ("NoVersion", "liveness"), ("NeverRepeats", "liveness"), ("NoReplay", "liveness"),
        ("AnswersByRack", "credit_bound"), ("SpreadsByPartial", "bit_exact"), ("ForgetsSum", "bit_exact"),
        ("TellsOneRack", "exactly_once"),
    ],
)  # fmt: skip
def test_checkers_find_broken_switches(name: str, check: str) -> None:
    """The cases of `switchml_tier_cases` find the others: their sums are right, or a peer must break the protocol."""
    (mutant,) = [each for each in MUTANTS if each.__name__ == name]
    plan = plan_of("job.size=40kB", "job.iterations=2", "time_limit=2s", fabric([2, 2]))
    assert judge(plan, simulate(plan, create=mutant))[check] is Verdict.FAIL


@needs_root[0]
@needs_root[1]
def test_both_worlds_make_the_same_sums(tmp_path: Any, monkeypatch: Any) -> None:
    run = assert_same_sums(NAME, ["job.size=60kB", "job.iterations=2"], 3, tmp_path, monkeypatch)
    assert len(digests(run.history)) == 10
