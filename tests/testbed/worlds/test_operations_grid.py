"""Every operation, bit for bit at every rank: 2, 4, 7 and 8 hosts, a rack and two tiers, no loss and 1 %, from no byte
to 1 MB, in both worlds.

Virtual time runs all of them; `test_operations_worlds` and `test_operations_in_switches` have the rack. Real packets
run 16 of each operation, in which every two values of hosts, size, loss and network meet.

Refused are sums of 1 and 999 bytes (no whole elements; 4 and 1000 bytes run in their place), and all-to-all and send
in switches (there is nothing to sum).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest

from testbed.runs.run import run_scenario
from testbed.scenario import Scenario, load_scenario
from tests.support.emulated import needs_root
from tests.support.passing import assert_passes, failed_checks
from tests.support.selection import some_at_once
from workloads.collectives.operations import ALL_REDUCE, OPERATIONS, SUMMED_OPERATIONS
from workloads.errors import ScenarioError

Case = tuple[str, str, str, int, str, str]
"""operation, what runs it, network, hosts, size, loss"""
HOSTS, LOSSES, NETWORKS = (2, 4, 7, 8), ("0", "1%"), ("rack", "spine-leaf")
BY_HOSTS = {
    ALL_REDUCE: "ring", "reduce_scatter": "ring", "all_gather": "ring", "all_to_all": "pairwise",
    "broadcast": "binomial_tree", "reduce": "binomial_tree", "send": "mesh", "barrier": "mesh",
}  # fmt: skip
RUNS = [
    *BY_HOSTS.items(),
    *product((each for each in OPERATIONS if BY_HOSTS[each] != "mesh"), ["mesh"]),
    *product(SUMMED_OPERATIONS, ["netreduce", "switchml"]),
]
RACKS = {2: [1, 1], 4: [2, 2], 7: [4, 3], 8: [4, 4]}
"""hosts of each rack on two tiers"""


def sizes_of(operation: str, runs: str) -> tuple[str, ...]:
    if operation == ALL_REDUCE and runs in ("netreduce", "switchml", "ring"):
        return ("4B", "12B", "1000B", "1MB")  # its vectors are never empty
    return ("0B", "4B", "1000B", "1MB") if OPERATIONS[operation].sums else ("0B", "1B", "999B", "1MB")


def scenario_of(case: Case, world: str) -> Scenario:
    operation, runs, network, hosts, size, loss = case
    mbps = 1000 if world == "simulated" else 100
    changes = [f"job.operation={operation}", f"job.size={size}", "job.iterations=2", "capture=false"]
    if runs == "switchml":
        start = "switchml"
    else:
        start = "rack"
        changes.append(f"job.protocol={runs}")
        if runs != "netreduce":
            changes.append("switch.program=forward")
    if network == "rack":
        changes.append(f"topology.hosts={hosts}")
    else:
        changes.append(f"topology={{kind: spine_leaf, leaves: 2, spines: 2, hosts_per_leaf: {RACKS[hosts]}}}")
        # One uplink carries the flows of four hosts: equal-cost paths may coincide, and nothing controls congestion.
        changes.append(f"topology.uplink.rate={4 * mbps}Mbps")
    changes.append(f"topology.link.rate={mbps}Mbps")
    if OPERATIONS[operation].has_root:
        changes.append("job.root=1")
    if loss != "0":
        changes.append(f"faults=[{{kind: loss, rate: {loss}}}]")
    return load_scenario(start, changes, world=world)


def passes(case: Case, world: str, folder: Path) -> None:
    document = run_scenario(scenario_of(case, world), folder / "run").document
    verdicts = {check["name"]: check["verdict"] for check in document["checks"]}
    assert verdicts["bit_exact"] == verdicts["liveness"] == "pass", failed_checks(document)
    if world == "simulated" and (case[5] == "0" or (case[4] == "1MB" and case[0] != "barrier")):
        assert_passes(document)  # a loss of 1 % may hit no packet of a smaller one


ON_TWO_TIERS = [
    (operation, runs, "spine-leaf", hosts, size, loss)
    for operation, runs in RUNS
    for hosts, size, loss in product(HOSTS, sizes_of(operation, runs), LOSSES)
]


@pytest.mark.parametrize(
    "case",
    some_at_once(ON_TWO_TIERS, quick=[case for case in ON_TWO_TIERS if case[3:] in ((7, "0B", "0"), (4, "1MB", "1%"))]),
    ids=str,
)
def test_on_two_tiers(case: Case, tmp_path: Path) -> None:
    passes(case, "simulated", tmp_path)


def _covered(operation: str, runs: str) -> Iterable[Case]:
    """Every two values meet in one of these."""
    for at, (hosts, size) in enumerate(product(range(4), range(4))):
        yield (
            operation,
            runs,
            NETWORKS[(hosts + size) % 2],
            HOSTS[hosts],
            sizes_of(operation, runs)[size],
            LOSSES[(hosts + at // 8 + size // 2) % 2],
        )


WITH_REAL_PACKETS = [case for run in RUNS for case in _covered(*run)]
AT_ONCE = [case for case in WITH_REAL_PACKETS if case[0] == "all_gather" and case[1] == "switchml" and case[3] == 4][:1]


def test_every_two_values_meet() -> None:
    for operation, runs in RUNS:
        cases = [case[2:] for case in WITH_REAL_PACKETS if case[:2] == (operation, runs)]
        values = [NETWORKS, HOSTS, sizes_of(operation, runs), LOSSES]
        for one, other in ((a, b) for a in range(4) for b in range(a)):
            assert {(case[one], case[other]) for case in cases} == set(product(values[one], values[other]))


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(case, marks=[*needs_root, *([] if case in AT_ONCE else [pytest.mark.minutes])])
        for case in WITH_REAL_PACKETS
    ],
    ids=str,
)
def test_with_real_packets(case: Case, tmp_path: Path) -> None:
    passes(case, "emulated", tmp_path)


@pytest.mark.parametrize(
    "operation", [pytest.param(each, marks=needs_root) for each in ("barrier", "broadcast", "all_to_all")]
)
def test_eight_hosts_share_the_processors_in_real_time(operation: str, tmp_path: Path) -> None:
    """Their timers outlast a wait for a processor: no queue pair gives up."""
    scenario = scenario_of((operation, "mesh", "spine-leaf", 8, "0B", "0"), "emulated")
    document = run_scenario(replace(scenario, dilation=1), tmp_path / "run").document
    verdicts = {check["name"]: check["verdict"] for check in document["checks"]}
    assert verdicts["bit_exact"] == "pass", failed_checks(document)


@pytest.mark.parametrize(
    ("case", "problem"),
    [
        *(((each, "netreduce", "rack", 4, "1MB", "0"), "netreduce does not run it") for each in ("all_to_all", "send")),
        *(
            ((each, runs, "rack", 4, "999B", "0"), "not a whole number of elements")
            for each, runs in RUNS
            if OPERATIONS[each].sums
        ),
    ],
)
def test_what_cannot_be_is_refused(case: Case, problem: str) -> None:
    with pytest.raises(ScenarioError, match=problem):
        scenario_of(case, "simulated")
