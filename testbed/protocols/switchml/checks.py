"""What must hold between the keys of a scenario whose collective is SwitchML."""

from __future__ import annotations

from collections.abc import Sequence

from testbed.faults.model import PacketFault
from testbed.protocols.switchml.checks_uc import check_framing, check_uc_fault
from testbed.reading.problems import KeyPath, Problems
from testbed.scenario.checks_datagrams import (
    check_datagram_fault,
    check_rto,
    check_sizes,
)
from testbed.scenario.fault_loader import Placed
from testbed.scenario.job import Job
from testbed.scenario.switch import SwitchOptions
from testbed.scenario.transport import Transport
from topologies import Topology
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
    switches, hosts = len(topology.switches), len(job.hosts) or len(topology.hosts)
    if hosts % job.copies:
        problems.add(
            ("job", "copies"),
            "every job has as many hosts",
            found=f"{job.copies} jobs on {hosts} hosts",
            allowed=f"a divisor of {hosts}",
        )
        return
    if switches > 1:
        problems.add(
            ("job", "collective"),
            f"{job.collective} sums in one switch",
            found=f"{switches} switches in the {topology.kind} topology",
            allowed="a topology with one switch (kind: rack)",
        )
    check_sizes(problems, entries, hosts // job.copies)
    if job.op != "sum":
        problems.add(("job", "op"), f"{job.collective} only sums", found=f"'{job.op}'", allowed="sum")
    for path, each in entries or [(("job",), job)]:
        if each.dtype not in ("float32", "int32"):
            problems.add(
                (*path, "dtype"),
                f"{job.collective} sums 32-bit integers that wrap",
                found=f"'{each.dtype}'",
                allowed="float32, int32",
            )
    payload = transport.path_mtu
    if payload > 4 * MAX_ELEMENTS:
        problems.add(
            ("transport", "path_mtu"),
            f"a {job.collective} packet has at most 256 elements",
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


def check_switchml_fault(problems: Problems, placed: Placed, job: Job, transport: Transport, ranks: int | None) -> None:
    """`ranks`: of a job; None where that is not known."""
    path, kind, fault = placed
    if transport.framing == "uc":
        if isinstance(fault, PacketFault):
            check_uc_fault(problems, path, kind, fault.match, transport, ranks)
        return
    check_datagram_fault(problems, placed, job.collective, None if kind == "forge" else "or transport.framing: uc")
