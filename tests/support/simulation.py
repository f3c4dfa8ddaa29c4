"""Scenarios for the simulated world, and what a test asks of a history."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from testbed.faults.model import Fault
from testbed.history import Record
from testbed.plan import Plan, make_plan
from testbed.scenario.model import Job, Scenario, SwitchOptions, Transport
from tests.support.references import contributions, flat_fold, ring_fold, sha256
from topologies import LinkShape, Topology, rack
from workloads.events import CollectiveCompleted

__all__ = ["digests", "expected_digests", "of", "rack_links", "rack_plan"]


def rack_links(hosts: int) -> tuple[str, ...]:
    return tuple(f"h{number}-s1" for number in range(1, hosts + 1))


def rack_plan(
    hosts: int = 4,
    *,
    seed: int = 1,
    faults: tuple[Fault, ...] = (),
    job: dict[str, Any] | None = None,
    transport: dict[str, Any] | None = None,
    link: dict[str, Any] | None = None,
    program: str | None = None,
    time_limit_ns: int = 60_000_000_000,
    topology: Topology | None = None,
) -> Plan:
    """A rack whose switch fits the collective, unless `program` says otherwise."""
    shape, work = LinkShape(**(link or {})), Job(**(job or {}))
    if program is None:
        program = "netreduce" if work.protocol == "netreduce" else "forward"
    return make_plan(
        Scenario(
            name="test", topology=topology or rack(hosts, shape), link=shape, seed=seed,
            transport=Transport(**(transport or {})), switch=SwitchOptions(program=program), job=work, faults=faults,
            time_limit_ns=time_limit_ns, capture=False,
        )
    )  # fmt: skip


def of(records: Iterable[Record], *kinds: type) -> list[Record[Any]]:
    return [record for record in records if isinstance(record.event, kinds)]


def digests(records: Iterable[Record]) -> dict[tuple[str, int], str]:
    """By (host, iteration)."""
    return {(r.node, r.event.iteration): r.event.sha256 for r in of(records, CollectiveCompleted)}


def expected_digests(plan: Plan) -> dict[tuple[str, int], str]:
    """What `digests` must be when everything went well (for a workload that does not learn)."""
    job, expected = plan.scenario.job, {}
    for iteration in range(job.iterations):
        rows = contributions(plan, iteration)
        fold = ring_fold if job.protocol == "ring" else flat_fold
        total = sha256(fold(rows, job.op, job.dtype))
        for rank, worker in enumerate(plan.workers):
            shifted = job.protocol == "shift"
            expected[worker.name, iteration] = sha256(rows[rank - 1]) if shifted else total
    return expected
