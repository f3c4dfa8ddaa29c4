"""What donors, newcomer and switches of a repair are told agrees."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from testbed.plan import Plan, make_plan
from testbed.protocols.repair.keys import RepairKeys
from testbed.scenario import load_scenario, parse_scenario
from workloads.repair import RepairConfig

FABRIC = """
name: fabric
topology: {kind: spine_leaf, leaves: 2, hosts_per_leaf: 3, spines: 2}
switch: {program: PROGRAM, memory: 20}
transport: {path_mtu: 256}
job: {protocol: repair, n: 7, k: 5, size: 2560B, window_packets: 64, JOB}
"""


def plan_of(program: str = "repair", job: str = "lost: 3") -> Plan:
    return make_plan(parse_scenario(FABRIC.replace("PROGRAM", program).replace("JOB", job), "fabric.yaml"))


def hosts(plan: Plan) -> list[RepairConfig]:
    return [worker for worker in plan.workers if isinstance(worker, RepairConfig)]


def test_the_last_host_is_the_newcomer_and_the_others_are_the_first_other_nodes() -> None:
    *donors, newcomer = hosts(plan_of())
    assert newcomer.is_newcomer
    assert not any(donor.is_newcomer for donor in donors)
    assert newcomer.share.donors == (0, 1, 2, 4, 5)
    assert newcomer.sends == ()
    assert [len(worker.sends) for worker in donors] == [1] * 5


def test_windows_fit_memory_and_symbol() -> None:
    assert {worker.window for worker in hosts(plan_of())} == {10}, "blocks"
    small = replace(plan_of().scenario, switch=replace(plan_of().scenario.switch, memory=4))
    assert {worker.window for worker in hosts(make_plan(small))} == {4}


def test_the_tree_is_told_to_the_switches_on_it_alone() -> None:
    plan = plan_of()
    trees = {switch.name: switch.jobs[0].tree for switch in plan.switches if switch.jobs}
    assert set(trees) == {"leaf1", "leaf2", "spine2"}, "job 1 takes the second of two spines"
    found: dict[str, Any] = {
        name: (tree.is_last, [(child.ranks, child.host) for child in tree.children])
        for name, tree in trees.items()
        if tree is not None
    }
    assert found == {
        "leaf1": (False, [(1, 0), (2, 1), (4, 2)]),
        "spine2": (False, [(7, -1)]),
        "leaf2": (True, [(8, 3), (16, 4), (7, -1)]),
    }


def test_where_nobody_combines_hosts_know_each_other() -> None:
    plan = plan_of("forward")
    assert not any(switch.jobs for switch in plan.switches)
    *donors, newcomer = hosts(plan)
    ends = {worker.name: worker.answers[0].src_ip for worker in hosts(plan)}
    assert [answer.dst_ip for answer in newcomer.answers] == [ends[donor.name] for donor in donors]
    assert {donor.answers[0].dst_ip for donor in donors} == {ends[newcomer.name]}


@pytest.mark.parametrize(
    ("keys", "share"),
    [
        (RepairKeys(), ("rs", 3, (1, 2, 3))),
        (RepairKeys("msr", 5, 3, lost=1), ("msr", 4, (0, 2, 3, 4))),
        (RepairKeys("mbr", 6, 3, 4, lost=5, donors=(4, 0, 1, 2)), ("mbr", 4, (4, 0, 1, 2))),
        (RepairKeys("rs", 3, 1, lost=0, donors=2), ("rs", 1, (2,))),
    ],
)
def test_what_keys_leave_out_follows(keys: RepairKeys, share: tuple[str, int, tuple[int, ...]]) -> None:
    assert (keys.share.name, keys.share.d, keys.share.donors) == share


def test_jobs_beside_each_other_share_the_memory_and_nothing_else() -> None:
    plan = make_plan(load_scenario("repair-two-jobs"))
    spans = {job.job: (job.first_slot, job.slots) for switch in plan.switches for job in switch.jobs}
    assert spans == {1: (0, 16), 2: (16, 16)}
    named = [(job.job, switch.name) for switch in plan.switches for job in switch.jobs]
    spines = {number: name for number, name in named if name.startswith("spine")}
    assert spines == {1: "spine2", 2: "spine1"}
