"""Operations other than the all-reduce, from file to verdict, in both worlds: bit for bit at every rank."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest

from testbed.runs.run import run_scenario
from testbed.scenario import load_scenario
from tests.support.emulated import needs_root
from tests.support.passing import assert_passes, failed_checks
from workloads.collectives.operations import OPERATIONS
from workloads.errors import ScenarioError

RUN_BY = {
    "reduce_scatter": "ring", "all_gather": "ring", "all_to_all": "pairwise", "broadcast": "binomial_tree",
    "reduce": "binomial_tree", "send": "mesh", "barrier": "mesh",
}  # fmt: skip
OTHERS = [operation for operation, protocol in RUN_BY.items() if protocol != "mesh"]
"""a mesh runs them, too"""
RUNS = [*RUN_BY.items(), *product(["all_reduce", *OTHERS], ["mesh"])]
NETWORKS = {"rack": "rack", "spine-leaf": "spine-leaf-ring"}
SIZES = ["0B", "1B", "4B", "999B", "1000B", "1MB"]


def is_possible(operation: str, size: str) -> bool:
    """Sums need whole elements."""
    return not OPERATIONS[operation].sums or size not in ("1B", "999B")


def scenario_of(operation: str, protocol: str, network: str, hosts: int, loss: str, size: str, world: str):
    changes = [
        f"job.protocol={protocol}", f"job.operation={operation}", "switch.program=forward",
        f"job.size={size}", f"topology.hosts={hosts}", "job.iterations=2",
    ]  # fmt: skip
    if world == "simulated":
        changes.append("topology.link.rate=1Gbps")
    if network == "spine-leaf":
        changes = [change for change in changes if not change.startswith("topology.hosts")]
    if OPERATIONS[operation].has_root:
        changes.append("job.root=1")
    if loss != "0":
        changes.append(f"faults=[{{kind: loss, rate: {loss}}}]")
    return load_scenario(NETWORKS[network], changes, world=world)


def test_every_operation_is_tried() -> None:
    assert set(RUN_BY) == set(OPERATIONS) - {"all_reduce"}


ON_A_RACK = [
    (*run, hosts, size, loss)
    for run, hosts, size, loss in product(RUNS, [2, 4, 7, 8], SIZES, ["0", "1%"])
    if is_possible(run[0], size)
]


@pytest.mark.parametrize(
    ("operation", "protocol", "hosts", "size", "loss", "world"),
    [
        *((*case, "simulated") for case in ON_A_RACK if (case[2], case[3]) in ((4, "1MB"), (7, "0B"), (7, "999B"))),
        *(
            pytest.param(*case, "simulated", marks=pytest.mark.minutes)
            for case in ON_A_RACK
            if (case[2], case[3]) not in ((4, "1MB"), (7, "0B"), (7, "999B"))
        ),
        *(
            pytest.param(
                *case, "emulated", marks=needs_root if case[1:3] == ("mesh", 4) else [*needs_root, pytest.mark.minutes]
            )
            for case in ON_A_RACK
            if case[2:] in ((4, "1MB", "1%"), (7, "999B", "0"))
        ),
    ],
)
def test_on_a_rack(operation: str, protocol: str, hosts: int, size: str, loss: str, world: str, tmp_path: Path) -> None:
    scenario = scenario_of(operation, protocol, "rack", hosts, loss, size, world)
    document = run_scenario(scenario, tmp_path / "run").document
    verdicts = {check["name"]: check["verdict"] for check in document["checks"]}
    assert verdicts["bit_exact"] == verdicts["liveness"] == "pass", failed_checks(document)
    if loss == "0" or (size == "1MB" and operation != "barrier"):
        assert_passes(document)  # a loss of 1 % may hit no packet of a smaller one


@pytest.mark.parametrize(("operation", "protocol"), RUNS)
def test_on_two_tiers(operation: str, protocol: str, tmp_path: Path) -> None:
    scenario = scenario_of(operation, protocol, "spine-leaf", 0, "1%", "1MB", "simulated")
    if operation == "barrier":  # two of one packet each would lose none
        scenario = replace(scenario, job=replace(scenario.job, iterations=50))
    assert_passes(run_scenario(scenario, tmp_path / "run").document)


@pytest.mark.parametrize(("operation", "protocol"), [run for run in RUNS if not is_possible(run[0], "999B")])
def test_sums_of_a_part_of_an_element_are_refused(operation: str, protocol: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        scenario_of(operation, protocol, "rack", 4, "0", "999B", "simulated")
    assert "job.size: not a whole number of elements; found 999 bytes" in str(caught.value)
