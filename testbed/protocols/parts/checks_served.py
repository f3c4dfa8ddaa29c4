"""What must hold between the keys of a scenario whose protocol sends its blocks to a parameter server."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from testbed.reading.problems import KeyPath, Problems
from testbed.scenario.checks.datagrams import check_racks, check_rto, check_sizes
from testbed.scenario.keys.job import Job
from testbed.scenario.keys.transport import Transport
from testbed.scenario.protocols.known import protocol_of
from testbed.scenario.protocols.names import PATH_MTUS
from topologies import Topology, attachment

__all__ = ["check_served", "check_served_in_racks"]


def _check_racks(
    problems: Problems, topology: Topology, job: Job, workers: int, entries: Sequence[tuple[KeyPath, Job]]
) -> None:
    names = list(job.hosts) or [host.name for host in topology.hosts if host.name != job.server]
    groups = [names[first : first + workers] for first in range(0, len(names), workers)]
    jobs: list[tuple[KeyPath, Sequence[str]]] = [((*path, "hosts"), each.hosts) for path, each in entries] or [
        (("job", "protocol"), each) for each in groups
    ]
    homes = {link.a: link.b for link in topology.links} | {link.b: link.a for link in topology.links}
    for path, hosts in jobs:
        check_racks(problems, path, Counter(homes[host] for host in hosts if host in homes).values())


def check_served(
    problems: Problems, topology: Topology, transport: Transport, job: Job, entries: Sequence[tuple[KeyPath, Job]] = ()
) -> None:
    """Bitmaps have 32 bits, a packet so many elements at most, and integers are summed. `entries`: of `jobs`, each
    with its place."""
    _check_served(problems, topology, transport, job, entries, in_racks=False)


def check_served_in_racks(
    problems: Problems, topology: Topology, transport: Transport, job: Job, entries: Sequence[tuple[KeyPath, Job]] = ()
) -> None:
    """The same, where packets name racks besides workers, so that a job may be larger than `bitmap0`."""
    _check_served(problems, topology, transport, job, entries, in_racks=True)


def _check_served(
    problems: Problems, topology: Topology, transport: Transport, job: Job, entries: Sequence[tuple[KeyPath, Job]],
    *, in_racks: bool,
) -> None:  # fmt: skip
    name, largest_mtu = job.protocol, protocol_of(job.protocol).largest_mtu()
    if attachment(topology) is not None:
        problems.add(
            ("job", "protocol"), f"{name} knows no accelerator", found=f"the {topology.kind} topology",
            allowed="any other topology.kind",
        )  # fmt: skip
    hosts = len(job.hosts) or len(topology.hosts) - 1
    if hosts % job.copies or hosts < job.copies:
        problems.add(
            ("job", "copies"),
            "every job has as many hosts",
            found=f"{job.copies} jobs on {hosts} hosts besides the server",
            allowed=f"a divisor of {hosts}",
        )
        return
    if in_racks:
        _check_racks(problems, topology, job, hosts // job.copies, entries)
    else:
        check_sizes(problems, entries, hosts // job.copies)
    if job.op != "sum":
        problems.add(("job", "op"), f"{name} only sums", found=f"'{job.op}'", allowed="sum")
    if transport.path_mtu > largest_mtu:
        problems.add(
            ("transport", "path_mtu"),
            f"a packet of {name} has at most {largest_mtu // 4} elements",
            found=str(transport.path_mtu),
            allowed=", ".join(str(mtu) for mtu in PATH_MTUS if mtu <= largest_mtu),
        )
        return
    check_rto(problems, transport)
