"""What must hold between the keys of a scenario whose ranks talk in pairs."""

from __future__ import annotations

from collections.abc import Sequence

from testbed.reading.problems import Problems
from testbed.scenario.keys.job import Job

__all__ = ["check_pairs"]


def check_pairs(problems: Problems, job: Job, nics: Sequence[tuple[str, str]] = ()) -> None:
    """The endpoints are our own: a worker on an RDMA device has the connections of one ring."""
    for host, device in nics:
        problems.add(
            ("nics", host), f"{job.protocol} has several peers per host, and a worker on an RDMA device has one ring",
            found=f"verbs:{device}", allowed="soft",
        )  # fmt: skip
