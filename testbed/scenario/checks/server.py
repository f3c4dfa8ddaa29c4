"""What must hold between the keys of a scenario whose protocol has a parameter server, and for keys that only such
have."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from testbed.reading.problems import KeyPath, Problems, closest, show
from testbed.reading.sections import changed
from testbed.scenario.keys.job import Job
from testbed.scenario.protocols.known import protocol_of
from testbed.scenario.protocols.names import PRIORITIES
from testbed.scenario.protocols.protocol import KeyGroup
from topologies import Topology

__all__ = ["check_server_keys", "with_server"]


def with_server(problems: Problems, topology: Topology | None, job: Job) -> Job:
    """The last host is the parameter server unless the file names another one. A server must be there, and be no
    worker."""
    if topology is None or not protocol_of(job.protocol).servers():
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
    taken = protocol_of(job.protocol).optional_keys()
    for path, each in ((("job",), job), *entries):
        keys = given.get(path, ())
        if each.fixed_scale is not None and KeyGroup.FIXED_SCALE in taken and each.dtype != "float32":
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
        if "priority" in keys and KeyGroup.PRIORITY in taken and each.priority not in PRIORITIES:
            problems.add(
                (*path, "priority"), "no such policy", found=show(each.priority), allowed=", ".join(PRIORITIES),
                hint=closest(each.priority, list(PRIORITIES)),
            )  # fmt: skip
