"""Built-ins at 10, 100 and 1,000 times their link rates, with selective recovery and 0.1 % loss, in virtual time:
timers take less than 5 % of the job completion time. The test tries the highest factor, with one seed;
`python -m tests.testbed.test_timers_at_rates` prints the table of all factors and seeds.

Faults are replaced by the loss, and timers that a file sets for its faults by `auto`. Built-ins that are equal then run
once.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache

import pytest

from testbed.faults.kinds.loss import Loss
from testbed.runs.run import judge_scenario
from testbed.scenario import builtin_names, load_scenario
from testbed.scenario.keys.transport import Transport
from testbed.scenario.model import Scenario
from testbed.scenario.protocols.known import protocol_of
from tests.support.scaled import at_rate, lasting
from topologies import DIRECTIONS

FACTORS, LOSS, SEEDS, MOST = (10, 100, 1000), 0.001, (1, 2, 3), 0.05
WITHOUT_SELECTIVE = {
    "hierarchical": "its phases have no IRN",
    "hierarchical-tencent": "its phases have no IRN",
    "hierarchical-lossy": "as hierarchical",
    "strategy": "the rings of its stages have no IRN",
    "strategy-lossy": "as strategy",
}
"""collectives whose connections know go-back-N alone"""

TRIPS, MOST_HOPS = 20, 50_000
"""How long jobs are at each rate (`tests.support.scaled.lasting`), the same for all. A timer that is `auto` lasts
three worst round trips at most. A job with n packets whose loss only a timer shows waits n x 0.1 % x 3 round trips on
average: in 20 round trips that is less than 5 % for n < 333, a few last packets on each of the links. One wait alone
may be up to 15 %. No job grows over 50,000 packets, counted on each link, so that the test takes minutes."""
LONG_TRIPS, LONG_HOPS = 300, 1_000_000
LONG = frozenset({
    "grid-geryon", "grid-goat", "incast-trimmed", "irn-held-spine-leaf-lossy", "irn-rack-spine-leaf-sprayed",
    "irn-spine-leaf-lossy",
    "ps-fat-tree", "ps-fat-tree-lossy", "repair", "repair-direct-lossy", "repair-lossy", "repair-msr-lossy",
    "sharded-ps-lossy", "spine-leaf-ack-lost", "spine-leaf-boundary-lost", "spine-leaf-ring-lossy",
    "spine-leaf-trimmed", "strategy-esa",
    "switchml-uc-lossy",
})  # fmt: skip
"""where one or two waits for a last packet are more than 5 % of 20 round trips: jobs so long that they are not"""
RACK = ("incast-trimmed", "spine-leaf-ring-lossy")
"""Where irn-rack finds more losses without a timer: each second packet leaves twice, or few packets follow a lost
one."""


def _selective(transport: Transport, recoveries: tuple[str, ...], best: str = "irn") -> Transport:
    """With timers that follow the links, and where there are connections one of IRN's recoveries."""
    recovery = transport.recovery
    if best in recoveries and recovery in ("gbn", "irn"):
        recovery = best
    return replace(
        transport, recovery=recovery, verb="write", receive_late_ns=0, timeout_code=None, rto_ns=None,
        rto_low_ns=None, rto_high_ns=None,
    )  # fmt: skip


def _lossy(name: str) -> Scenario:
    scenario = load_scenario(name)
    links = tuple(link.name for link in scenario.topology.links)
    switch = scenario.switch if scenario.switch.gate != "epsn" else replace(scenario.switch, gate="window")
    return replace(
        scenario,
        description="", world="simulated", capture=False, trace=False, dilation=1, expect="pass", source="",
        switch=switch, background=tuple(flow for flow in scenario.background if flow.kind != "tcp"),
        transport=_selective(
            scenario.transport, protocol_of(scenario.job.protocol).recoveries(), "irn-rack" if name in RACK else "irn"
        ),
        beside=tuple(
            replace(each, transport=_selective(each.transport, protocol_of(each.job.protocol).recoveries()))
            for each in scenario.beside
        ),
        faults=(Loss("loss", links=links, directions=DIRECTIONS, rate=LOSS),),
    )  # fmt: skip


@cache
def cases() -> dict[str, Scenario]:
    """By name, those that differ. Lossless fabrics are left out: there a lost packet may hold all others. So are RDMA
    flows, which no number of iterations makes longer."""
    found: dict[Scenario, str] = {}
    for name in builtin_names():
        scenario = load_scenario(name)
        if any(part.job.protocol == "flows" for part in scenario.parts):
            continue
        if name not in WITHOUT_SELECTIVE and scenario.world != "lab" and scenario.pfc is None:
            found.setdefault(replace(_lossy(name), name="same", time_limit_ns=1, seed=1), name)
    return {name: _lossy(name) for name in found.values()}


def measured(name: str, factor: int, seed: int) -> tuple[float, str]:
    """(share of timers, verdict)."""
    length = (LONG_TRIPS, LONG_HOPS) if name in LONG else (TRIPS, MOST_HOPS)
    scenario = replace(lasting(at_rate(cases()[name], factor), *length), seed=seed)
    result = judge_scenario(scenario, "")
    share = result["metrics"]["jct"]["timers"]
    assert share is not None, result["checks"]
    if share >= MOST:  # an upper bound: the timer of one host may run while another one is what all wait for
        result = judge_scenario(replace(scenario, capture=True), "")
        parts = result["metrics"]["jct"]["parts"]
        assert parts is not None, result["metrics"]["jct"]
        share = parts["timers"]
    return share, result["verdict"]


@pytest.mark.minutes
@pytest.mark.parametrize("name", sorted(cases()))
def test_timers_take_little(name: str) -> None:
    share, verdict = measured(name, max(FACTORS), SEEDS[0])
    assert share < MOST, f"{share:.1%} at {max(FACTORS)} times the rate"
    assert verdict != "fail"  # what a scenario expects of its own faults may not show


def test_exceptions_are_built_in() -> None:
    assert {*RACK, *LONG} <= set(cases())
    for name in WITHOUT_SELECTIVE:
        assert protocol_of(load_scenario(name).job.protocol).recoveries() == ("gbn",)


def test_jobs_last_as_long_at_each_rate() -> None:
    """As many round trips of 531 us at 100 Mb/s, and full queues of 128 packets, at each rate."""
    case = cases()["ack-lost"]
    sizes = {factor: lasting(at_rate(case, factor), TRIPS, MOST_HOPS).job.size_bytes for factor in FACTORS}
    assert len(set(sizes.values())) == 1
    small = load_scenario("ack-lost").job.size_bytes
    assert sizes[10] / small == 7
    assert lasting(at_rate(case, 10), TRIPS, 10_000).job.size_bytes == 3 * small


def _table(factors: Sequence[int], names: Sequence[str]) -> Iterator[str]:
    for name in names or sorted(cases()):
        shares = [[measured(name, factor, seed)[0] for seed in SEEDS] for factor in factors]
        yield f"| `{name}` | " + " | ".join(", ".join(f"{share:.1%}" for share in each) for each in shares) + " |"


if __name__ == "__main__":  # [factor[,factor ...] [name ...]]
    tried = tuple(map(int, sys.argv[1].split(","))) if sys.argv[1:] else FACTORS
    for line in _table(tried, sys.argv[2:]):
        print(line, flush=True)
