"""Operations other than the all-reduce, from file to verdict, in both worlds: bit for bit at every rank."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest

from testbed.runs.run import run_scenario
from testbed.scenario import load_scenario
from tests.support.passing import assert_passes, failed_checks
from tests.support.selection import in_both_worlds
from workloads.collectives.operations import OPERATIONS

RUN_BY = {
    "reduce_scatter": "ring", "all_gather": "ring", "all_to_all": "pairwise", "broadcast": "binomial_tree",
    "reduce": "binomial_tree",
}  # fmt: skip
NETWORKS = {"rack": "rack", "spine-leaf": "spine-leaf-ring"}
SIZES = {"4B": 1, "996B": 249, "1MB": 250_000}


def scenario_of(operation: str, network: str, hosts: int, loss: str, size: str, world: str):
    changes = [
        f"job.collective={RUN_BY[operation]}", f"job.operation={operation}", "switch.program=forward",
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


@pytest.mark.parametrize(
    ("operation", "hosts", "size", "loss", "world"),
    in_both_worlds(
        product(RUN_BY, [2, 4, 7, 8], SIZES, ["0", "1%"]),
        emulated=[(operation, 4, "1MB", "1%") for operation in RUN_BY],
    ),
)
def test_on_a_rack(operation: str, hosts: int, size: str, loss: str, world: str, tmp_path: Path) -> None:
    scenario = scenario_of(operation, "rack", hosts, loss, size, world)
    document = run_scenario(scenario, tmp_path / "run").document
    verdicts = {check["name"]: check["verdict"] for check in document["checks"]}
    assert verdicts["bit_exact"] == verdicts["liveness"] == "pass", failed_checks(document)
    if size == "1MB" or loss == "0":
        assert_passes(document)  # a loss of 1 % may hit no packet of a smaller one


@pytest.mark.parametrize("operation", RUN_BY)
def test_on_two_tiers(operation: str, tmp_path: Path) -> None:
    document = run_scenario(
        scenario_of(operation, "spine-leaf", 0, "1%", "1MB", "simulated"), tmp_path / "run"
    ).document
    assert_passes(document)
