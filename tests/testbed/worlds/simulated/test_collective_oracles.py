"""All-reduces over RC held to the oracle table of closed forms (spec of routing and jobs, section 8), in virtual time,
and to the bytes that leave and enter a rack (section 5), from the counters of links.

The closed forms know no headers, no ACKs and no store-and-forward. So the bandwidth of a link here is that of the row
times frame / payload, and alpha of the row is what is left to the delays of the links once the last frame has crossed
the switch and its ACK both links. Rows whose alpha is less than that have no such network and are not asked for.
"""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path

import pytest

from testbed.history.events import ShapingMeasured
from testbed.history.files import read_history
from testbed.plan import make_plan
from testbed.runs.run import run_scenario
from testbed.scenario.model import Job, Scenario, SwitchOptions, Transport
from testbed.worlds.simulated import simulate
from tests.support.emulated import needs_root
from tests.testbed.worlds.simulated.test_pairs import FRAME, MTU, SHAPE, seconds_of
from topologies import LinkShape, Topology, rack, spine_leaf

ACK = 62
SUMMING = ("ring", "recursive_doubling", "rabenseifner", "binomial_tree", "sharded_ps")
POWERS_OF_TWO = ("recursive_doubling", "rabenseifner")
SIZE = 1_000_000
"""of 1 KiB alpha is all: there the last step, which waits for no ACK, is half an alpha shorter than the form"""


def job_on(topology: Topology, collective: str, size: int, **job: object) -> Scenario:
    options = {"message_packets": 170, **job}
    return Scenario(
        "t", topology, topology.links[0].shape, world="simulated", transport=Transport(timeout_code=18),
        switch=SwitchOptions("forward"), job=Job(collective=collective, size_bytes=size, **options), capture=False,
        time_limit_ns=60_000_000_000,
    )  # fmt: skip


def wire_of(row: dict[str, str]) -> LinkShape | None:
    """The link that has the row's bandwidth for payload, and its alpha for the last frame's way and its ACK's."""
    rate = float(row["bandwidth_bps"]) * FRAME / MTU
    left_s = float(row["alpha_s"]) - (FRAME + 2 * ACK) * 8 / rate
    return (
        None if left_s < 0 else LinkShape(rate_bps=round(rate), delay_ns=round(left_s / 4 * 1e9), queue_packets=10**5)
    )


@pytest.mark.parametrize("ranks", [2, 3, 4, 6, 8])
@pytest.mark.parametrize("collective", SUMMING)
def test_times_are_those_of_the_table(collective: str, ranks: int, oracles: Path) -> None:
    rows = list(csv.DictReader((oracles / "collectives.csv").open()))
    wanted = [
        (row, wire)
        for row in rows
        if (row["algorithm"], int(row["N"])) == (collective, ranks)
        and int(row["bytes"]) == SIZE
        and (wire := wire_of(row)) is not None
    ]
    assert len(wanted) in (0, 3)
    assert wanted or collective in POWERS_OF_TWO
    for row, wire in wanted:
        scenario = job_on(rack(ranks, wire), collective, int(row["bytes"]), pipelined=False)
        found = seconds_of(list(simulate(make_plan(scenario))))
        assert found == pytest.approx(float(row["seconds"]), rel=0.05), row


@pytest.mark.parametrize("world", ["simulated", pytest.param("emulated", marks=needs_root)])
@pytest.mark.parametrize(
    ("collective", "gradients"), [("ring", 1.875), ("recursive_doubling", 8.0), ("rabenseifner", 1.5)]
)
def test_bytes_that_leave_and_enter_a_rack(collective: str, gradients: float, world: str, tmp_path: Path) -> None:
    """Four racks of four, ranks in order. Beside data a link carries the ACKs of what came the other way."""
    size = MTU * 128
    scenario = replace(job_on(spine_leaf([4, 4, 4, 4], 1, SHAPE), collective, size), world=world)
    result = run_scenario(scenario, tmp_path / "run")
    assert result.document["verdict"] == "pass", result.document["checks"]
    hosts, found = {node.name for node in scenario.topology.hosts}, dict[tuple[str, str], float]()
    for record in read_history(tmp_path / "run" / "history.jsonl"):
        event = record.event
        if isinstance(event, ShapingMeasured) and not set(event.link.split("-")) & hosts:
            found[event.link, event.direction] = event.bytes * MTU / FRAME / size
    assert len(found) == 8
    for link, carried in found.items():
        # Headers of a message's first packet, 20 bytes, and an ACK for each message and for 16 packets of long ones.
        assert gradients <= carried <= gradients * 1.05, (link, carried)
