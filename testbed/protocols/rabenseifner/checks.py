"""What must hold between the keys of a scenario whose protocol is Rabenseifner's."""

from __future__ import annotations

from testbed.reading.problems import Problems
from testbed.scenario.keys.job import Job
from topologies import Topology

__all__ = ["check_halves"]


def check_halves(problems: Problems, topology: Topology, job: Job) -> None:
    """Every rank but those that fold in keeps a part of the gradient."""
    ranks = len(job.hosts) or len(topology.hosts)
    least = 4 << ranks.bit_length() - 1
    if job.workload != "digits" and job.size_bytes < least:
        problems.add(
            ("job", "size"),
            f"{job.protocol} leaves each rank a part of the gradient to sum, and there is not an element for each",
            found=f"{job.size_bytes} bytes",
            allowed=f"at least {least} bytes ({ranks} ranks)",
        )
