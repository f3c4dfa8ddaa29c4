"""Sums inside switches need racks under spines."""

from __future__ import annotations

from testbed.reading.problems import Problems
from testbed.scenario.keys.job import Job
from topologies import Topology, attachment
from topologies.racks import racks_of
from workloads.collectives.ina_header import MAX_MEMBERS

__all__ = ["check_fabric"]


def check_fabric(problems: Problems, topology: Topology, job: Job) -> None:
    """Sums over several switches need racks under spines; one switch adds so many connections."""
    if len(topology.switches) == 1:
        _check_members(problems, job, len(job.hosts) or len(topology.hosts), "a switch")
        return
    if attachment(topology) is not None:  # there, the commodity switch sums nothing
        return
    hosts = {host.name: host for host in topology.hosts}
    if not set(job.hosts) <= set(hosts):
        return  # said elsewhere
    try:
        found = racks_of(topology, tuple(hosts[name] for name in job.hosts) or topology.hosts)
        _check_members(problems, job, max(len(rack.hosts) for rack in found.racks), "a leaf")
    except ValueError as problem:
        problems.add(
            ("job", "protocol"),
            f"{job.protocol} sums in one switch, or in leaves that are all linked to all spines; {problem}",
            found=f"{len(topology.switches)} switches in the {topology.kind} topology",
            allowed="kind rack, rack_accelerator, spine_leaf, machines, or custom of such a shape; or protocol ring "
            "or shift with "
            "switch.program: forward",
        )
    if job.dtype == "int32sat":
        problems.add(
            ("job", "dtype"),
            "a rack's sum that clamps would lose what other racks take back",
            found="'int32sat' over several switches",
            allowed="int32, float32, or a topology with one switch",
        )


def _check_members(problems: Problems, job: Job, hosts: int, where: str) -> None:
    if hosts > MAX_MEMBERS:
        problems.add(
            ("topology",),
            f"{where} of {job.protocol} sums at most {MAX_MEMBERS} hosts",
            found=f"{hosts}",
            allowed=f"{MAX_MEMBERS} or fewer on one switch; more hosts with kind spine_leaf",
        )
