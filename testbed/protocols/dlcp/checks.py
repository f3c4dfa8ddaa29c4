"""What must hold between the keys of a scenario whose protocol is DLCP."""

from __future__ import annotations

from collections.abc import Sequence

from switch_nodes.kinds import sums
from testbed.protocols.dlcp.keys import DlcpKeys
from testbed.reading.problems import KeyPath, Problems
from testbed.scenario.checks.datagrams import check_datagram_fault, check_rto, check_sizes
from testbed.scenario.keys.fault_loader import Placed
from testbed.scenario.keys.job import Job
from testbed.scenario.keys.switch import SwitchOptions
from testbed.scenario.keys.transport import Transport
from testbed.scenario.protocols.names import PATH_MTUS
from topologies import Topology, attachment
from workloads.wire.aggregation import MAX_ELEMENTS

__all__ = ["check_dlcp", "check_dlcp_fault"]

_ELEMENT_BYTES = 4


def check_dlcp(
    problems: Problems,
    topology: Topology,
    switch: SwitchOptions,
    transport: Transport,
    job: Job,
    entries: Sequence[tuple[KeyPath, Job]] = (),
) -> None:
    """Are there a server and who sends to it, do packets fit? `entries`: of `jobs`, each with its place."""
    if attachment(topology) is not None:
        found = f"the {topology.kind} topology"
        problems.add(("job", "protocol"), "dlcp knows no accelerator", found=found, allowed="any other one")
    if isinstance(job.own, DlcpKeys) and job.own.loss_bound >= 1:
        problems.add(("job", "loss_bound"), "nothing would be sent", found=f"{job.own.loss_bound:g}", allowed="below 1")
    if isinstance(job.own, DlcpKeys):
        _check_program(problems, switch, job.own, len(entries) or job.copies)
    if job.op != "sum":
        problems.add(("job", "op"), "dlcp only sums", found=f"'{job.op}'", allowed="sum")
    if transport.path_mtu > _ELEMENT_BYTES * MAX_ELEMENTS:
        allowed = ", ".join(str(mtu) for mtu in PATH_MTUS if mtu <= _ELEMENT_BYTES * MAX_ELEMENTS)
        problems.add(
            ("transport", "path_mtu"), f"a packet of dlcp has at most {MAX_ELEMENTS} elements",
            found=str(transport.path_mtu), allowed=allowed,
        )  # fmt: skip
    check_rto(problems, transport)
    hosts = len(job.hosts) or len(topology.hosts)
    if not entries and (hosts % job.copies or hosts < 2 * job.copies):
        problems.add(
            ("job", "copies"), "every job has as many hosts, two or more",
            found=f"{job.copies} jobs on {hosts} hosts", allowed=f"a divisor of {hosts}, at most {hosts // 2}",
        )  # fmt: skip
        return
    check_sizes(problems, entries, hosts // job.copies)
    for path, each in entries or [(("job",), job)]:
        if each.dtype == "int32sat" and isinstance(job.own, DlcpKeys) and (job.own.adds or job.own.rings):
            problems.add(
                (*path, "dtype"), "a sum of some would stop at the ends of int32 before the others come",
                found=f"int32sat with over: {job.own.over}", allowed="float32, int32; or job.over: ps",
            )  # fmt: skip
    for path, each in entries:
        if len(each.hosts) < 2:
            place = (*path, "workers") if (*path, "workers") in problems.places else (*path, "hosts")
            problems.add(
                place, "no host sends to the server, which is the last host", found="1 host", allowed="2 or more"
            )


def _check_program(problems: Problems, switch: SwitchOptions, keys: DlcpKeys, jobs: int) -> None:
    """Check that the switches do what `job.over` says."""
    if keys.adds != sums(switch.program):
        allowed = "dlcp; or job.over: ps, ring" if keys.adds else "forward; or job.over: ina"
        problems.add(
            ("switch", "program"), f"job.over is {keys.over}", found=f"'{switch.program}'", allowed=allowed
        )  # fmt: skip
        return
    if keys.adds and switch.memory < jobs:
        found = f"{switch.memory} for {jobs} job{'s' if jobs > 1 else ''}"
        problems.add(("switch", "memory"), "no slot for every job", found=found, allowed=f"{jobs} or more")
    if keys.adds and keys.slot_timer_ns == 0:
        problems.add(("job", "slot_timer"), "a slot would not wait for any packet", found="0", allowed="above 0")


def check_dlcp_fault(problems: Problems, placed: Placed, job: Job, transport: Transport, ranks: int | None) -> None:
    """Only how often a datagram came can be asked for."""
    check_datagram_fault(problems, placed, job.protocol)
