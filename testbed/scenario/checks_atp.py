"""What must hold between the keys of a scenario whose collective is ATP, ESA or GRID."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from testbed.reading.problems import KeyPath, Problems, closest, show
from testbed.scenario.checks_datagrams import check_no_devices, check_rto, check_sizes
from testbed.scenario.model import Job, SwitchOptions, Transport
from testbed.scenario.names import PRIORITIES
from topologies import LinkShape, Topology, attachment
from workloads.wire.aggregation import MAX_ELEMENTS, MAX_GRID_ELEMENTS

__all__ = ["WITH_SERVER", "check_aimd", "check_atp", "check_atp_keys", "check_atp_nics", "with_server"]

WITH_SERVER = ("atp", "esa", "grid")
"""collectives with a parameter server"""
_FIXED = ("atp", "esa")
"""collectives that may multiply floats by one scale: a sum that leaves its range is told"""
_WITH_MARKS = ("atp", "esa")
"""collectives whose windows follow the marks of congestion"""
_ESA_ONLY = ("priority", "priority_x0")


def with_server(problems: Problems, topology: Topology | None, job: Job) -> Job:
    """The last host is the parameter server unless the file names another one. A server must be there, and be no worker."""
    if job.collective not in WITH_SERVER or topology is None:
        return job
    known = [host.name for host in topology.hosts]
    if not job.server:
        job = replace(job, server=known[-1])
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
            allowed="a host of its own: leave it out of job.hosts, or name another job.server",
        )  # fmt: skip
    return job


def check_atp_keys(
    problems: Problems, job: Job, given: Mapping[KeyPath, Collection[str]], entries: Sequence[tuple[KeyPath, Job]]
) -> None:
    """`given`: keys that the file holds at `job` and at each of the `entries` of `jobs`. Servers are ATP's and ESA's, priorities
    ESA's alone."""
    for path, each in ((("job",), job), *entries):
        keys, name = given.get(path, ()), job.collective
        if "server" in keys and name not in WITH_SERVER and path == ("job",):
            problems.add(
                (*path, "server"),
                f"collective {name} has no parameter server",
                allowed=f"with job.collective: {', '.join(WITH_SERVER)}",
            )
        if each.fixed_scale is not None and name not in _FIXED:
            problems.add(
                (*path, "quantisation"), f"collective {name} has no way to tell that a sum left its range",
                allowed=f"exponents; fixed: with job.collective: {', '.join(_FIXED)}",
            )  # fmt: skip
        elif each.fixed_scale is not None and each.dtype != "float32":
            problems.add(
                (*path, "quantisation"),
                "integers need no scale",
                found=f"dtype {each.dtype}",
                allowed="with dtype: float32",
            )
        for key in _ESA_ONLY:
            if key in keys and name != "esa":
                problems.add((*path, key), f"collective {name} has no priorities", allowed="with job.collective: esa")
        if "priority_x0" in keys and each.priority_x0 is not None and each.priority == "equal":
            problems.add(
                (*path, "priority_x0"), "rule equal has no scale", found=f"{each.priority_x0:g}",
                allowed="leave the key out, or another priority",
            )  # fmt: skip
        if "priority" in keys and name == "esa" and each.priority not in PRIORITIES:
            problems.add(
                (*path, "priority"), "no such policy", found=show(each.priority), allowed=", ".join(PRIORITIES),
                hint=closest(each.priority, list(PRIORITIES)),
            )  # fmt: skip


def check_aimd(problems: Problems, transport: Transport, job: Job) -> None:
    """Of the window that heeds marks; that of GRID is `routing.mode`'s."""
    if not transport.aimd and job.collective not in _WITH_MARKS:
        problems.add(
            ("transport", "aimd"), f"collective {job.collective} has no such window", found="false",
            allowed=f"leave the key out, or job.collective: {', '.join(_WITH_MARKS)}",
        )  # fmt: skip


def check_atp(
    problems: Problems,
    topology: Topology,
    shape: LinkShape,
    switch: SwitchOptions,
    transport: Transport,
    job: Job,
    entries: Sequence[tuple[KeyPath, Job]] = (),
) -> None:
    """The bitmap has 32 bits, a packet 256 elements at most, and integers are summed. `entries`: of `jobs`, each with its
    place."""
    name = job.collective
    if name not in WITH_SERVER:
        return
    if attachment(topology) is not None:
        problems.add(
            ("job", "collective"), f"{name} knows no accelerator", found=f"the {topology.kind} topology",
            allowed="any other topology.kind",
        )  # fmt: skip
    hosts = len(job.hosts) or len(topology.hosts) - 1
    if transport.congestion_control != "none":
        problems.add(
            ("transport", "congestion_control"),
            f"{name} has no RoCE connections to slow down",
            found=transport.congestion_control,
            allowed="none; its own is transport.aimd",
        )
    if hosts % job.copies or hosts < job.copies:
        problems.add(
            ("job", "copies"),
            "every job has as many hosts",
            found=f"{job.copies} jobs on {hosts} hosts beside the server",
            allowed=f"a divisor of {hosts}",
        )
        return
    check_sizes(problems, entries, hosts // job.copies)
    if job.op != "sum":
        problems.add(("job", "op"), f"{name} only sums", found=f"'{job.op}'", allowed="sum")
    payload = transport.path_mtu
    most = MAX_GRID_ELEMENTS if name == "grid" else MAX_ELEMENTS
    if payload > 4 * most:
        problems.add(
            ("transport", "path_mtu"),
            f"a packet of {name} has at most {most} elements",
            found=str(payload),
            allowed="256, 512, 1024",
        )
        return
    check_rto(problems, transport)


def check_atp_nics(problems: Problems, job: Job, nics: Sequence[tuple[str, str]]) -> None:
    if job.collective in WITH_SERVER:
        check_no_devices(problems, job.collective, nics)
