"""What must hold between the keys of a scenario whose protocol is SwitchML."""

from __future__ import annotations

from collections.abc import Sequence

from testbed.faults.model import PacketFault
from testbed.protocols.switchml.checks_tiers import leaves_of, roots_of
from testbed.protocols.switchml.checks_uc import check_framing, check_uc_fault
from testbed.reading.problems import KeyPath, Problems
from testbed.scenario.checks.datagrams import (
    check_datagram_fault,
    check_rto,
    check_sizes,
)
from testbed.scenario.keys.fault_loader import Placed
from testbed.scenario.keys.job import Job
from testbed.scenario.keys.switch import SwitchOptions
from testbed.scenario.keys.transport import Transport
from topologies import Topology, attachment
from workloads.wire.aggregation import MAX_ELEMENTS

__all__ = ["check_switchml", "check_switchml_fault"]

_VERSIONS = 2


def check_switchml(
    problems: Problems,
    topology: Topology,
    switch: SwitchOptions,
    transport: Transport,
    job: Job,
    entries: Sequence[tuple[KeyPath, Job]] = (),
) -> None:
    """The bitmap has 32 bits, a packet 256 elements at most, an index two versions, and integers are summed. `entries`:
    of `jobs`, each with its place."""
    check_framing(problems, transport, job, entries)
    hosts = len(job.hosts) or len(topology.hosts)
    if hosts % job.copies:
        problems.add(
            ("job", "copies"),
            "every job has as many hosts",
            found=f"{job.copies} jobs on {hosts} hosts",
            allowed=f"a divisor of {hosts}",
        )
        return
    _check_tiers(problems, topology, transport, job, entries)
    check_sizes(problems, entries, hosts // job.copies)
    if job.op != "sum":
        problems.add(("job", "op"), f"{job.protocol} only sums", found=f"'{job.op}'", allowed="sum")
    for path, each in entries or [(("job",), job)]:
        if each.dtype not in ("float32", "int32"):
            problems.add(
                (*path, "dtype"),
                f"{job.protocol} sums 32-bit integers that wrap",
                found=f"'{each.dtype}'",
                allowed="float32, int32",
            )
    payload = transport.path_mtu
    if payload > 4 * MAX_ELEMENTS:
        problems.add(
            ("transport", "path_mtu"),
            f"a {job.protocol} packet has at most 256 elements",
            found=str(payload),
            allowed="256, 512, 1024",
        )
        return
    count = len(entries) or job.copies
    values = _VERSIONS * count * transport.uc_packets
    if switch.memory < values:
        of_packets = f" of {transport.uc_packets} packets" if transport.uc_packets > 1 else ""
        problems.add(
            ("switch", "memory"),
            f"no slot{of_packets} for every job: each has a shadow copy",
            found=f"{switch.memory} for {count} job{'s' if count > 1 else ''}",
            allowed=f"{values} or more",
        )
    check_rto(problems, transport)


def _check_tiers(
    problems: Problems, topology: Topology, transport: Transport, job: Job, entries: Sequence[tuple[KeyPath, Job]]
) -> None:
    """One switch sums, or those of the racks and one above them."""
    if len(topology.switches) == 1:
        return
    names = [name for _, each in entries for name in each.hosts] or job.hosts
    leaves = leaves_of(topology, names or [host.name for host in topology.hosts])
    shape = f"{len(topology.switches)} switches in the {topology.kind} topology"
    if attachment(topology) or (len(leaves) > 1 and not roots_of(topology, leaves)):
        problems.add(
            ("job", "protocol"),
            f"{job.protocol} sums in one switch, or in the racks' switches and one that is linked to all of them",
            found=shape,
            allowed="kind: rack, kind: spine_leaf, or a custom topology in which a switch without hosts is linked to "
            "every switch with hosts",
        )
    elif transport.framing == "uc":
        problems.add(
            ("transport", "framing"),
            f"{job.protocol} over unreliable connections sums in one switch",
            found=shape,
            allowed="framing: udp, or a topology with one switch (kind: rack)",
        )


def check_switchml_fault(problems: Problems, placed: Placed, job: Job, transport: Transport, ranks: int | None) -> None:
    """`ranks`: of a job; None where that is not known."""
    path, kind, fault = placed
    if transport.framing == "uc":
        if isinstance(fault, PacketFault):
            check_uc_fault(problems, path, kind, fault.match, transport, ranks)
        return
    check_datagram_fault(problems, placed, job.protocol, None if kind == "forge" else "or transport.framing: uc")
