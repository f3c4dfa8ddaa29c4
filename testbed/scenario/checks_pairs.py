"""What must hold between the keys of a scenario whose ranks talk in pairs."""

from __future__ import annotations

from collections.abc import Sequence

from testbed.reading.problems import Problems
from testbed.scenario.job import Job
from topologies import Topology

__all__ = ["check_halves", "check_pairs"]


def check_pairs(problems: Problems, job: Job, nics: Sequence[tuple[str, str]] = ()) -> None:
    """The endpoints are our own: a worker on an RDMA device has the connections of one ring."""
    for host, device in nics:
        problems.add(
            ("nics", host), f"{job.collective} has several peers per host, and a worker on an RDMA device has one ring",
            found=f"verbs:{device}", allowed="soft",
        )  # fmt: skip


def check_halves(problems: Problems, topology: Topology, job: Job) -> None:
    """Every rank but those that fold in keeps a part of the gradient."""
    ranks = len(job.hosts) or len(topology.hosts)
    least = 4 << ranks.bit_length() - 1
    if job.workload != "digits" and job.size_bytes < least:
        problems.add(
            ("job", "size"),
            f"{job.collective} leaves each rank a part of the gradient to sum, and there is not an element for each",
            found=f"{job.size_bytes} bytes",
            allowed=f"at least {least} bytes ({ranks} ranks)",
        )
