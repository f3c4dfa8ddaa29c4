"""Rings of 2 to 32 hosts, and of the 64 that one switch adds: what is a bit, a table row or a port per host holds."""

from __future__ import annotations

from pathlib import Path

import pytest

from testbed.faults.events import FaultStruck
from testbed.faults.model import Loss
from testbed.history.events import TimeLimitReached
from testbed.runs.run import run_scenario
from testbed.scenario import load_scenario
from testbed.worlds.simulated import simulate
from tests.support.emulated import needs_root
from tests.support.passing import assert_passes
from tests.support.simulation import digests, expected_digests, of, rack_links, rack_plan
from topologies import MAX_HOSTS, MAX_PORTS, LinkShape, rack
from workloads.events import MessageReceived, QpFailed, WorkerFailed

SIZES = (2, 3, 4, 8, 16, 24, 32)


@pytest.mark.parametrize(
    ("hosts", "protocol"),
    [(hosts, protocol) for protocol in ("netreduce", "ring") for hosts in SIZES] + [(MAX_PORTS, "netreduce")],
)
def test_every_host_gets_the_sum_over_links_that_lose(hosts: int, protocol: str) -> None:
    job = {"protocol": protocol, "size_bytes": 20_000, "message_packets": 4}
    loss = Loss("rain", links=rack_links(hosts), rate=max(0.01, 0.2 / hosts))
    plan = rack_plan(hosts, job=job, faults=(loss,), transport={"timeout_code": 12})
    records = simulate(plan)
    assert not of(records, WorkerFailed, TimeLimitReached, QpFailed)
    assert of(records, FaultStruck)
    assert digests(records) == expected_digests(plan)
    assert len(digests(records)) == hosts


@pytest.mark.parametrize("hosts", [2, 32, MAX_PORTS])
def test_no_sum_leaves_before_the_last_host_of_all(hosts: int) -> None:
    """The highest bit of a slot counts as every other."""
    late_ns = 20_000_000
    topology = rack(hosts, LinkShape(), {f"h{hosts}-s1": LinkShape(delay_ns=late_ns)})
    slow = rack_plan(hosts, topology=topology, job={"size_bytes": 4_000}, transport={"timeout_code": 16})
    fast = rack_plan(hosts, job={"size_bytes": 4_000})
    first_result, last_result = (
        pick(record.t for record in of(simulate(plan), MessageReceived)) for plan, pick in ((slow, min), (fast, max))
    )
    assert last_result < late_ns < first_result


@pytest.mark.parametrize("name", [pytest.param("rack-32", marks=needs_root)])
def test_thirty_two_hosts_in_real_time(name: str, tmp_path: Path) -> None:
    changes = ["job.size=20kB", "job.message_packets=8"]
    result = run_scenario(load_scenario(name, changes), tmp_path / "run")
    assert_passes(result.document)
    assert len(digests(result.history)) == MAX_HOSTS
