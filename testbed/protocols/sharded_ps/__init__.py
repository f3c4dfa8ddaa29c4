"""A sharded parameter server: every host serves its share of the gradient (docs/sharded-ps.md)."""

from __future__ import annotations

from testbed.protocols.parts.scheduled import scheduled
from testbed.reading.problems import Problems
from testbed.scenario.job import Job
from topologies import Topology
from workloads.collectives.sharded_ps import sharded_ps
from workloads.lazily import later

__all__ = ["PROTOCOL"]


def check_shares(problems: Problems, topology: Topology, job: Job) -> None:
    """Every rank serves a part of the gradient."""
    ranks = len(job.hosts) or len(topology.hosts)
    if job.workload != "digits" and job.size_bytes < 4 * ranks:
        problems.add(
            ("job", "size"),
            "sharded_ps lets each rank serve a part of the gradient, and there is not an element for each",
            found=f"{job.size_bytes} bytes",
            allowed=f"at least {4 * ranks} bytes ({ranks} ranks)",
        )


PROTOCOL = scheduled(
    "sharded_ps",
    "sharded parameter server: every host sums its share of the gradient and gives it to all",
    sharded_ps,
    later("testbed.checkers.orders:in_ring_order"),
    gradients=lambda ranks: 2 * (ranks - 1) / ranks,
    checks=(check_shares,),
)
