"""What must hold between the keys of a scenario whose protocol has phases inside machines and between them."""

from __future__ import annotations

from collections.abc import Sequence

from testbed.reading.problems import Problems
from testbed.scenario.keys.job import Job
from topologies import Topology, machine_groups

__all__ = ["check_machines", "check_pieces"]


def check_machines(problems: Problems, topology: Topology, job: Job, nics: Sequence[tuple[str, str]] = ()) -> None:
    """Of protocols whose phases run inside machines and between them, on endpoints of our own."""
    for host, device in nics:
        problems.add(
            ("nics", host), f"{job.protocol} has rings in phases, and a worker on an RDMA device has one ring alone",
            found=f"verbs:{device}", allowed="soft",
        )  # fmt: skip
    if topology.kind != "machines":
        problems.add(
            ("job", "protocol"),
            f"{job.protocol} runs over machines of several workers",
            found=f"the {topology.kind} topology",
            allowed="topology.kind: machines",
        )
        return
    if job.hosts and job.hosts != tuple(host.name for host in topology.hosts):
        problems.add(
            ("job", "hosts"),
            f"{job.protocol} takes every worker of every machine, in the order of the topology",
            found=", ".join(job.hosts),
            allowed="leave the key out",
        )


def check_pieces(problems: Problems, topology: Topology, job: Job) -> None:
    """Each worker of a machine sums a piece of the gradient with its peers in other machines."""
    if topology.kind != "machines" or (job.hosts and job.hosts != tuple(host.name for host in topology.hosts)):
        return  # said elsewhere
    each = len(machine_groups(topology)[0])
    if job.size_bytes < 4 * each:
        problems.add(
            ("job", "size"),
            "not an element for each worker of a machine",
            found=f"{job.size_bytes} bytes",
            allowed=f"at least {4 * each} bytes ({each} workers per machine)",
        )
