"""Operations that switches sum: an all-reduce of whole vectors stands for each, bit for bit at every rank, and without
loss in the time of one vector on a link."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest

from testbed.plan import make_plan
from testbed.runs.run import run_scenario
from testbed.scenario import Scenario, load_scenario
from tests.support.emulated import needs_root
from tests.support.passing import assert_passes, failed_checks
from tests.support.selection import some_at_once
from workloads.collectives.operations import ALL_REDUCE, OPERATIONS, SUMMED_OPERATIONS
from workloads.errors import ScenarioError
from workloads.wire.aggregation import AGGREGATION_OVERHEAD_BYTES

OTHERS = [operation for operation in SUMMED_OPERATIONS if operation != ALL_REDUCE]
NETWORKS = {
    "netreduce": "rack", "switchml": "switchml", "switchml-uc": "switchml-uc", "atp": "atp", "esa": "esa", "ps": "ps",
    "fabric": "spine-leaf",
}  # fmt: skip
SERVED = ("atp", "esa", "ps")
"""one more host is their parameter server"""
ONCE = (("all_gather", "netreduce"), ("reduce_scatter", "switchml"))
BYTES, RATE_BPS = 1_000_000, 1e9


def scenario_of(operation: str, network: str, hosts: int, size: str, world: str, *more: str) -> Scenario:
    changes = [f"job.operation={operation}", f"job.size={size}", "job.iterations=2", *more]
    if hosts:
        changes.append(f"topology.hosts={hosts + (network in SERVED)}")
    if network in SERVED:
        changes.append(f"job.server=h{hosts + 1}")
    if world == "simulated":
        changes.append("topology.link.rate=1Gbps")
    if OPERATIONS[operation].has_root:
        changes.append("job.root=1")
    return load_scenario(NETWORKS[network], changes, world=world)


def is_possible(operation: str, size: str) -> bool:
    return not OPERATIONS[operation].sums or size not in ("1B", "999B")


ON_A_RACK = [
    (operation, network, hosts, size, loss)
    for operation, network, hosts, size, loss in product(
        OTHERS, [name for name in NETWORKS if name != "fabric"], [2, 4, 7, 8], ["0", "1B", "4B", "999B", "1MB"], [0, 1]
    )
    if is_possible(operation, size)
]
QUICK = [case for case in ON_A_RACK if case[2:] in ((4, "1MB", 1), (7, "0", 0), (7, "999B", 0), (2, "4B", 0))]


@pytest.mark.parametrize(
    "case",
    [*QUICK, *(pytest.param(case, marks=pytest.mark.minutes) for case in ON_A_RACK if case not in QUICK)],
    ids=str,
)
def test_on_a_rack(case: tuple[str, str, int, str, int], tmp_path: Path) -> None:
    operation, network, hosts, size, loss = case
    faults = ["faults=[{kind: loss, rate: 1%}]"] if loss else []
    document = run_scenario(
        scenario_of(operation, network, hosts, size, "simulated", *faults), tmp_path / "run"
    ).document
    verdicts = {check["name"]: check["verdict"] for check in document["checks"]}
    assert verdicts["bit_exact"] == verdicts["liveness"] == "pass", failed_checks(document)
    if not loss or (size == "1MB" and operation != "barrier"):
        assert_passes(document)  # a loss of 1 % may hit no packet of a smaller one


@pytest.mark.parametrize("operation", OTHERS)
def test_on_two_tiers(operation: str, tmp_path: Path) -> None:
    more = ["faults=[{kind: loss, rate: 1%}]"]
    if operation == "barrier":  # two of one packet each would lose none
        more.append("job.iterations=50")
    assert_passes(
        run_scenario(scenario_of(operation, "fabric", 0, "100kB", "simulated", *more), tmp_path / "r").document
    )


@pytest.mark.parametrize("operation", OTHERS)
def test_several_jobs_meet_in_one_switch(operation: str, tmp_path: Path) -> None:
    scenario = scenario_of(operation, "switchml", 8, "100kB", "simulated", "job.copies=2", "topology.link.delay=20us")
    assert_passes(run_scenario(scenario, tmp_path / "run").document)


@pytest.mark.parametrize(
    ("operation", "network"),
    [
        pytest.param(*case, marks=needs_root if case in ONCE else [*needs_root, pytest.mark.minutes])
        for case in product(OTHERS, ["netreduce", "switchml"])
    ],
)
def test_with_real_packets(operation: str, network: str, tmp_path: Path) -> None:
    scenario = scenario_of(operation, network, 4, "99996B", "emulated")
    document = run_scenario(scenario, tmp_path / "run").document
    verdicts = {check["name"]: check["verdict"] for check in document["checks"]}
    assert verdicts["bit_exact"] == verdicts["liveness"] == "pass", failed_checks(document)


@pytest.mark.parametrize("workload", ["special", "extreme"])
@pytest.mark.parametrize("operation", ["all_gather", "broadcast"])
def test_words_that_move_keep_their_bits(operation: str, workload: str, tmp_path: Path) -> None:
    scenario = scenario_of(operation, "netreduce", 4, "4000B", "simulated", f"job.workload={workload}")
    assert_passes(run_scenario(scenario, tmp_path / "run").document)


CASES = [
    *product(
        [each for each in OTHERS if each != "barrier"], ["netreduce", "switchml", "atp", "esa", "ps"], [2, 4, 7, 8]
    )
]


@pytest.mark.parametrize("case", some_at_once(CASES, quick=[case for case in CASES if case[2] == 4]), ids=str)
def test_time_and_bytes(case: tuple[str, str, int], tmp_path: Path) -> None:
    operation, network, hosts = case
    scenario = scenario_of(operation, network, hosts, "1MB", "simulated")
    metrics = run_scenario(scenario, tmp_path / "run").document["metrics"]
    framing = make_plan(scenario).workers[0].framing
    wire_bytes = BYTES * framing.frame_bytes / framing.payload_bytes
    # A rank omits its own chunk of an all-gather, where no packet needs to carry it back.
    share = (hosts - 1) / hosts if (operation, network) == ("all_gather", "switchml") else 1
    for seconds in metrics["iterations_s"]:
        assert share * 8 * wire_bytes / RATE_BPS <= seconds * 1.001
        assert seconds <= 1.05 * 8 * wire_bytes / RATE_BPS
    headers = (1 - share) * BYTES / framing.payload_bytes * AGGREGATION_OVERHEAD_BYTES
    busiest = share * wire_bytes + headers
    assert 2 * busiest * 0.999 <= metrics["busiest_link"]["bytes"] <= 1.03 * 2 * busiest
    assert metrics["retransmissions"]["packets"] == 0


SENT = {"reduce_scatter": 1, "all_gather": 0, "broadcast": 0, "reduce": 1}
"""1: every rank sends its vector; 0: all of them together send one"""
RECEIVED = {"reduce_scatter": 0, "all_gather": 1, "broadcast": 1, "reduce": 0}
"""0: all ranks together get one vector; 1: they get all but what they sent"""


@pytest.mark.parametrize("operation", SENT)
@pytest.mark.parametrize("hosts", [2, 5])
def test_switchml_omits_what_is_zero_or_unwanted(hosts: int, operation: str, tmp_path: Path) -> None:
    scenario = scenario_of(operation, "switchml", hosts, "100kB", "simulated")
    metrics = run_scenario(scenario, tmp_path / "run").document["metrics"]
    payload, packets = scenario.transport.path_mtu, -(-100_000 // scenario.transport.path_mtu)
    exponents = 2 * packets if OPERATIONS[operation].sums else packets  # nearly: those of the last blocks go alone
    for name, form in (("sent", SENT), ("received", RECEIVED)):
        vectors = 1 if name == "sent" and form[operation] else 1 / hosts
        if name == "received" and form[operation]:
            vectors = (hosts - 1) / hosts
        least = 2 * (vectors * 100_000 + packets * AGGREGATION_OVERHEAD_BYTES)
        most = 2 * (vectors * 100_000 + 2 * payload + exponents * AGGREGATION_OVERHEAD_BYTES)
        assert least <= metrics["wire"][f"{name}_per_rank_bytes"] <= most


DATAGRAM = 14 + 20 + 8 + 40
"""bytes of Ethernet, IPv4, UDP and the header of aggregation datagrams"""
RC_MESSAGE = 14 + 20 + 8 + 12 + 16 + 4 + 16 + 4
"""of Ethernet, IPv4, UDP, BTH, RETH, immediate data, NetReduce's header and iCRC"""
BARRIERS = {
    "netreduce": (RC_MESSAGE + 4, 2), "switchml": (DATAGRAM, 2), "esa": (DATAGRAM + 4, 2), "atp": (DATAGRAM + 4, 4),
    "ps": (DATAGRAM + 4, 4),
}  # fmt: skip
"""bytes of its one packet, with an element but for SwitchML, and how many links it crosses: four by way of a server"""


@pytest.mark.parametrize("hosts", [2, 4, 7, 8])
@pytest.mark.parametrize("network", BARRIERS)
def test_a_barrier_takes_one_packets_way_and_no_rounds(network: str, hosts: int, tmp_path: Path) -> None:
    scenario = scenario_of("barrier", network, hosts, "0", "simulated")
    metrics = run_scenario(scenario, tmp_path / "run").document["metrics"]
    packet_bytes, links = BARRIERS[network]
    way_s = links * (packet_bytes * 8 / RATE_BPS + scenario.link.delay_ns / 1e9)
    # NetReduce's first one waits for the exponent, which goes before all data.
    for seconds in metrics["iterations_s"][network == "netreduce" :]:
        assert way_s <= seconds * 1.001
        assert seconds <= 1.05 * way_s


@pytest.mark.parametrize(
    ("network", "changes", "problem"),
    [
        ("rack", ["job.operation=all_to_all"], "job.operation: netreduce does not run it"),
        ("switchml", ["job.operation=send"], "job.operation: switchml does not run it"),
        ("rack", ["job.operation=broadcast", "job.root=4"], "job.root: no such rank; found 4; allowed: 0 to 3"),
        ("rack", ["job.operation=reduce", "job.size=999B"], "job.size: not a whole number of elements"),
        ("rack", ["job.operation=reduce", "job.fallback=ring"], "job.fallback: only an all-reduce can start again"),
        ("rack", ["job.size=0"], "job.size: out of range; found 0 bytes"),
        ("switchml", ["job.operation=reduce", "job.compute.ratio=1"], "gradients that are computed are summed"),
        ("switchml", ["job.operation=reduce", "job.copies=2", "job.root=2"], "job.root: no such rank; found 2"),
        ("switchml", ["job.operation=reduce", "jobs=[{workers: 2}, {workers: 2}]"], "the entries of `jobs` only sum"),
    ],
)
def test_what_cannot_be_is_refused(network: str, changes: list[str], problem: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        load_scenario(network, changes, world="simulated")
    assert problem in str(caught.value)
