"""What must hold between the keys of a scenario whose collective has a parameter server, and for keys that only such
have."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence

from testbed.reading.problems import KeyPath, Problems, closest, show
from testbed.reading.sections import changed
from testbed.scenario.checks_datagrams import check_racks, check_rto, check_sizes
from testbed.scenario.job import Job
from testbed.scenario.known import traits_of
from testbed.scenario.names import PATH_MTUS, PRIORITIES
from testbed.scenario.transport import Transport
from topologies import Topology, attachment

__all__ = ["check_served", "check_served_in_racks", "check_server_keys", "with_server"]


def with_server(problems: Problems, topology: Topology | None, job: Job) -> Job:
    """The last host is the parameter server unless the file names another one. A server must be there, and be no
    worker."""
    if topology is None or not traits_of(job.collective).has_server:
        return job
    known = [host.name for host in topology.hosts]
    if not job.server:
        job = changed(job, server=known[-1])
    path: KeyPath = ("job", "server")
    if job.server not in known:
        problems.add(
            path, "the parameter server is not on the topology", found=show(job.server), allowed=", ".join(known),
            hint=closest(job.server, known),
        )  # fmt: skip
    elif job.server in job.hosts:
        place = path if path in problems.places else ("job", "hosts")
        problems.add(
            place, "the parameter server is a worker", found=job.server,
            allowed="a host of its own: omit it in job.hosts, or name another job.server",
        )  # fmt: skip
    return job


def check_server_keys(
    problems: Problems, job: Job, given: Mapping[KeyPath, Collection[str]], entries: Sequence[tuple[KeyPath, Job]]
) -> None:
    """`given`: keys that the file holds at `job` and at each of the `entries` of `jobs`: servers, scales,
    priorities."""
    traits = traits_of(job.collective)
    for path, each in ((("job",), job), *entries):
        keys = given.get(path, ())
        if each.fixed_scale is not None and traits.fixed_scale and each.dtype != "float32":
            problems.add(
                (*path, "quantisation"),
                "integers need no scale",
                found=f"dtype {each.dtype}",
                allowed="with dtype: float32",
            )
        if "priority_x0" in keys and each.priority_x0 is not None and each.priority == "equal":
            problems.add(
                (*path, "priority_x0"), "rule equal has no scale", found=f"{each.priority_x0:g}",
                allowed="leave the key out, or another priority",
            )  # fmt: skip
        if "priority" in keys and traits.has_priorities and each.priority not in PRIORITIES:
            problems.add(
                (*path, "priority"), "no such policy", found=show(each.priority), allowed=", ".join(PRIORITIES),
                hint=closest(each.priority, list(PRIORITIES)),
            )  # fmt: skip


def _check_racks(
    problems: Problems, topology: Topology, job: Job, workers: int, entries: Sequence[tuple[KeyPath, Job]]
) -> None:
    names = list(job.hosts) or [host.name for host in topology.hosts if host.name != job.server]
    groups = [names[first : first + workers] for first in range(0, len(names), workers)]
    jobs: list[tuple[KeyPath, Sequence[str]]] = [((*path, "hosts"), each.hosts) for path, each in entries] or [
        (("job", "collective"), each) for each in groups
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
    name, traits = job.collective, traits_of(job.collective)
    if attachment(topology) is not None:
        problems.add(
            ("job", "collective"), f"{name} knows no accelerator", found=f"the {topology.kind} topology",
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
    if transport.path_mtu > traits.largest_mtu:
        problems.add(
            ("transport", "path_mtu"),
            f"a packet of {name} has at most {traits.largest_mtu // 4} elements",
            found=str(transport.path_mtu),
            allowed=", ".join(str(mtu) for mtu in PATH_MTUS if mtu <= traits.largest_mtu),
        )
        return
    check_rto(problems, transport)
