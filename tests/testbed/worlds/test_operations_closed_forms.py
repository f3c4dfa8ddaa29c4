"""Without loss, operations take the time of their closed forms, and the busiest link carries what they say."""

from __future__ import annotations

from pathlib import Path

import pytest

from testbed.plan import make_plan
from testbed.runs.run import run_scenario
from tests.support.selection import some_at_once
from tests.testbed.worlds.test_operations_worlds import RUNS, scenario_of

BYTES, RATE_BPS = 1_000_000, 1e9
TIMES = {
    "all_reduce": lambda ranks: 2 * (ranks - 1) / ranks,
    **dict.fromkeys(("reduce_scatter", "all_gather", "all_to_all"), lambda ranks: (ranks - 1) / ranks),
    **dict.fromkeys(("broadcast", "reduce"), lambda ranks: (ranks - 1).bit_length()),
    "send": lambda ranks: 1,
}
"""How many times the vector crosses the busiest link of a host."""
CASES = [(*run, hosts) for run in RUNS for hosts in (2, 4, 7, 8) if run[0] in TIMES]
QUICK = [case for case in CASES if case[2] == 4 or case[1:] == ("pairwise", 7)]


@pytest.mark.parametrize("case", some_at_once(CASES, quick=QUICK), ids=str)
def test_time_and_bytes(case: tuple[str, str, int], tmp_path: Path) -> None:
    operation, protocol, hosts = case
    scenario = scenario_of(operation, protocol, "rack", hosts, "0", "1MB", "simulated")
    metrics = run_scenario(scenario, tmp_path / "run").document["metrics"]
    framing = make_plan(scenario).workers[0].framing
    wire_bytes = TIMES[operation](hosts) * BYTES * framing.frame_bytes / framing.payload_bytes
    for seconds in metrics["iterations_s"]:
        assert 8 * wire_bytes / RATE_BPS <= seconds * 1.001
        assert seconds <= 1.05 * 8 * wire_bytes / RATE_BPS
    # Of two iterations; a rank that gets data also acknowledges it, in frames of its own.
    assert 2 * wire_bytes <= metrics["busiest_link"]["bytes"] <= 1.03 * 2 * wire_bytes
    assert 0.95 <= metrics["goodput_bps"] / metrics["bound_bps"] <= 1
    assert metrics["retransmissions"]["packets"] == 0


@pytest.mark.parametrize("hosts", [2, 4, 7, 8])
def test_a_barrier_takes_a_packets_way_for_each_round(hosts: int, tmp_path: Path) -> None:
    scenario = scenario_of("barrier", "mesh", "rack", hosts, "0", "0B", "simulated")
    metrics = run_scenario(scenario, tmp_path / "run").document["metrics"]
    # Ethernet, IPv4, UDP, BTH, RETH, immediate data and iCRC of a message without bytes, over two links.
    way_s = 2 * (14 + 20 + 8 + 12 + 16 + 4 + 4) * 8 / RATE_BPS + 2 * scenario.link.delay_ns / 1e9
    rounds = (hosts - 1).bit_length()
    for seconds in metrics["iterations_s"]:
        assert rounds * way_s <= seconds * 1.001
        assert seconds <= 1.05 * rounds * way_s + rounds * 2e-6  # acknowledgements of the round before
