"""All-reduces over RC held to the oracle table of closed forms (spec of routing and jobs, section 8), in virtual time,
and to the bytes that leave and enter a rack (section 5), from the counters of links.

Alpha of the forms is the latency of one message: from its first byte until its receiver may use it. The forms know no
headers, no switch and no ACK. What of these there is becomes part of the network or is counted apart (docs/pairs.md):

- Steps of many frames: the bandwidth of a link is that of the row times frame / payload; the last frame crosses the
  switch whole, which is part of alpha.
- Steps of one frame: it crosses two links, one after the other, so that each has twice the row's bandwidth, and headers
  on both are part of alpha.
- A step begins when the sender's own messages are acknowledged: those ways back that the job waits for are added to
  the form.

Rows whose alpha is less than what is to be part of it have no such network and are not asked for.
"""

from __future__ import annotations

import csv
from collections.abc import Callable
from dataclasses import replace
from math import ceil, log2
from pathlib import Path

import pytest

from testbed.history.events import ShapingMeasured
from testbed.history.files import read_history
from testbed.plan import make_plan
from testbed.protocols.rabenseifner.keys import RabenseifnerKeys
from testbed.runs.run import run_scenario
from testbed.scenario.model import Job, Scenario, SwitchOptions, Transport
from testbed.worlds.simulated import simulate
from tests.support.passing import assert_passes
from tests.support.selection import in_both_worlds
from tests.testbed.worlds.simulated.test_pairs import FRAME, MTU, SHAPE, seconds_of
from topologies import LinkShape, Topology, rack, spine_leaf

ACK = 62
SUMMING = ("ring", "recursive_doubling", "rabenseifner", "binomial_tree", "sharded_ps")
POWERS_OF_TWO = ("recursive_doubling", "rabenseifner")
KIB, MB = 1024, 1_000_000
"""of the 100 MB of other rows the packets are too many for a test"""
FULL_HEADERS, ONLY_HEADERS = FRAME - MTU, 78
"""bytes of a frame in the middle of a message, and of one that is a message"""
SAVED_STEPS = {3: 1, 6: 1}
"""ranks of a binomial tree -> steps of the form whose latency it does without, since children of one rank send at
once"""


def job_on(topology: Topology, protocol: str, size: int, **job: object) -> Scenario:
    options = {"message_packets": 170, **job}
    return Scenario(
        "t", topology, topology.links[0].shape, world="simulated", transport=Transport(timeout_code=18),
        switch=SwitchOptions("forward"), job=Job(protocol=protocol, size_bytes=size, **options), capture=False,
        time_limit_ns=60_000_000_000,
    )  # fmt: skip


class Row:
    """Of the table, and the network for it."""

    def __init__(self, row: dict[str, str]) -> None:
        self.collective, self.ranks, self.size = row["algorithm"], int(row["N"]), int(row["bytes"])
        self.seconds, self.alpha_s, line_bps = (float(row[key]) for key in ("seconds", "alpha_s", "bandwidth_bps"))
        if self.size != KIB:
            self.rate_bps = line_bps * FRAME / MTU
            crossing = FRAME
        elif self.collective == "sharded_ps":  # so many frames in a step as there are others
            share = KIB / self.ranks
            self.rate_bps = line_bps * (share + ONLY_HEADERS) / share
            crossing = share + ONLY_HEADERS
        else:
            self.rate_bps = 2 * line_bps
            crossing = 2 * ONLY_HEADERS
        self.left_s = self.alpha_s - crossing * 8 / self.rate_bps
        self.ack_s = self.left_s + 2 * ACK * 8 / self.rate_bps
        """a way back"""
        self.transfer_s = 8 * self.size / line_bps

    @property
    def wire(self) -> LinkShape:
        return LinkShape(
            rate_bps=round(self.rate_bps), delay_ns=round(self.left_s / 2 * 1e9), queue_packets=10**5
        )  # fmt: skip

    @property
    def counted(self) -> float:
        """Seconds of the form, and what it does not know of."""
        saved_s = 0.0
        if self.collective == "binomial_tree" and self.size == KIB:
            # Two children send at once, and the second frame waits on one link alone.
            saved_s = SAVED_STEPS.get(self.ranks, 0) * (self.alpha_s + self.transfer_s / 2)
        return self.seconds - saved_s + ways_back(self.collective, self.ranks) * self.ack_s


def rows_of(oracles: Path, protocol: str, ranks: int, size: int) -> list[Row]:
    with (oracles / "collectives.csv").open() as table:
        rows = [Row(row) for row in csv.DictReader(table) if row["algorithm"] == protocol]
    return [row for row in rows if (row.ranks, row.size) == (ranks, size) and row.left_s >= 0]


STEPS: dict[str, Callable[[int], int]] = {
    "ring": lambda ranks: 2 * (ranks - 1),
    "recursive_doubling": lambda ranks: ceil(log2(ranks)),
    "rabenseifner": lambda ranks: 2 * ceil(log2(ranks)),
    "binomial_tree": lambda ranks: 2 * ceil(log2(ranks)),
    "sharded_ps": lambda ranks: 2,
}
"""alphas of the form"""


def ways_back(protocol: str, ranks: int) -> int:
    """Of ACKs that a job waits for: the fewer of them the better, and never one behind its last step."""
    steps = STEPS[protocol](ranks)
    if protocol == "binomial_tree":  # up, a child waits for nobody; down, the root sends to one after the other
        return steps // 2 - 1
    return steps - 1


@pytest.mark.parametrize("ranks", [2, 3, 4, 6, 8, 16])
@pytest.mark.parametrize("protocol", SUMMING)
def test_latencies_are_those_of_the_form_and_the_ways_back_that_are_told(protocol: str, ranks: int) -> None:
    """Where links only delay, a job lasts as many of their delays as messages and ACKs follow one another."""
    if protocol in POWERS_OF_TWO and ranks & (ranks - 1):
        return
    scenario = job_on(
        rack(ranks, LinkShape(rate_bps=10**12, delay_ns=10**6, queue_packets=10**5)), protocol, KIB, pipelined=False
    )
    ways = seconds_of(list(simulate(make_plan(scenario)))) / 2e-3
    saved = SAVED_STEPS.get(ranks, 0) if protocol == "binomial_tree" else 0
    assert ways == pytest.approx(STEPS[protocol](ranks) - saved + ways_back(protocol, ranks), abs=0.01)


@pytest.mark.parametrize("size", [KIB, MB])
@pytest.mark.parametrize("ranks", [2, 3, 4, 6, 8])
@pytest.mark.parametrize("protocol", SUMMING)
def test_times_are_those_of_the_table(protocol: str, ranks: int, size: int, oracles: Path) -> None:
    wanted = rows_of(oracles, protocol, ranks, size)
    assert len(wanted) in ((0, 4) if size == KIB else (0, 3))
    assert wanted or protocol in POWERS_OF_TWO
    for row in wanted:
        scenario = job_on(rack(ranks, row.wire), protocol, size, pipelined=False)
        assert seconds_of(list(simulate(make_plan(scenario)))) == pytest.approx(row.counted, rel=0.05), vars(row)


@pytest.mark.parametrize(
    ("protocol", "own", "gradients", "world"),
    in_both_worlds(
        [
            ("ring", None, 1.875),
            ("recursive_doubling", None, 8.0),
            ("rabenseifner", RabenseifnerKeys("near"), 1.5),
            ("rabenseifner", RabenseifnerKeys("far"), 6.0),
        ],
        emulated=[("rabenseifner", RabenseifnerKeys("near"), 1.5)],
    ),
)
def test_bytes_that_leave_and_enter_a_rack(
    protocol: str, own: RabenseifnerKeys | None, gradients: float, world: str, tmp_path: Path
) -> None:
    """Four racks of four, ranks in order. Beside data a link carries the ACKs of what came the other way."""
    size = MTU * 128
    scenario = replace(job_on(spine_leaf([4, 4, 4, 4], 1, SHAPE), protocol, size, own=own), world=world)
    result = run_scenario(scenario, tmp_path / "run")
    assert_passes(result.document)
    hosts, found = {node.name for node in scenario.topology.hosts}, dict[tuple[str, str], float]()
    for record in read_history(tmp_path / "run" / "history.jsonl"):
        event = record.event
        if isinstance(event, ShapingMeasured) and not set(event.link.split("-")) & hosts:
            found[event.link, event.direction] = event.bytes * MTU / FRAME / size
    assert len(found) == 8
    for link, carried in found.items():
        # Headers of a message's first packet, 20 bytes, and an ACK for each message and for 16 packets of long ones.
        assert gradients <= carried <= gradients * 1.05, (link, carried)
