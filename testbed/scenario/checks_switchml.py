"""What must hold between the keys of a scenario whose collective is SwitchML."""

from __future__ import annotations

from collections.abc import Sequence

from testbed.faults.model import Match, PacketFault
from testbed.scenario.checks_uc import check_framing, check_no_framing, check_uc_fault
from testbed.scenario.fault_loader import Placed
from testbed.scenario.model import Job, SwitchOptions, Transport
from testbed.scenario.names import DATAGRAM_COLLECTIVES
from testbed.scenario.problems import KeyPath, Problems
from topologies import LinkShape, Topology
from workloads.wire.aggregation import AGGREGATION_OVERHEAD_BYTES, MAX_ELEMENTS

__all__ = ["check_switchml", "check_switchml_fault", "check_switchml_nics"]

_MOST_WORKERS = 32
_ETHERNET = 14
_VERSIONS = 2
_ROCE_ONLY = ("corrupt", "ecn_mark", "forge")
_NEVER = "the fault can never strike: "


def check_switchml(
    problems: Problems,
    topology: Topology,
    shape: LinkShape,
    switch: SwitchOptions,
    transport: Transport,
    job: Job,
    entries: Sequence[tuple[KeyPath, Job]] = (),
) -> None:
    """The bitmap has 32 bits, a packet 256 elements at most, an index two versions, and integers are summed. `entries`: of
    `jobs`, each with its place."""
    if job.collective != "switchml":
        if job.copies > 1 and job.collective not in DATAGRAM_COLLECTIVES:
            problems.add(
                ("job", "copies"),
                f"collective {job.collective} runs one job",
                found=str(job.copies),
                allowed=f"1, or job.collective: {', '.join(DATAGRAM_COLLECTIVES)}",
            )
        check_no_framing(problems, transport, job)
        return
    check_framing(problems, transport, job, entries)
    switches, hosts = len(topology.switches), len(job.hosts) or len(topology.hosts)
    if transport.congestion_control != "none":
        problems.add(
            ("transport", "congestion_control"),
            "switchml has no RoCE connections to slow down",
            found=transport.congestion_control,
            allowed="none",
        )
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
            "switchml sums in one switch",
            found=f"{switches} switches in the {topology.kind} topology",
            allowed="a topology with one switch (kind: rack)",
        )
    sizes = [(path, len(each.hosts)) for path, each in entries] or [(("job",), hosts // job.copies)]
    for path, workers in sizes:
        if workers > _MOST_WORKERS:
            problems.add(
                (*path, "hosts" if entries else "collective"),
                "more workers than bits",
                found=f"{workers} hosts",
                allowed=f"at most {_MOST_WORKERS} in a job",
            )
    if job.op != "sum":
        problems.add(("job", "op"), "switchml only sums", found=f"'{job.op}'", allowed="sum")
    for path, each in entries or [(("job",), job)]:
        if each.dtype not in ("float32", "int32"):
            problems.add(
                (*path, "dtype"),
                "switchml sums 32-bit integers that wrap",
                found=f"'{each.dtype}'",
                allowed="float32, int32",
            )
    payload = transport.path_mtu
    if payload > 4 * MAX_ELEMENTS:
        problems.add(
            ("transport", "path_mtu"),
            "a switchml packet has at most 256 elements",
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
    if transport.rto_ns == 0:
        problems.add(("transport", "rto"), "out of range", found="0", allowed="more than 0")
    if transport.framing != "udp":
        return  # checked as for all RoCE packets
    need = AGGREGATION_OVERHEAD_BYTES - _ETHERNET + payload
    for link in topology.links:
        if link.shape.mtu < need:
            problems.add(
                ("topology", "link", "mtu"),
                f"one packet of path_mtu {payload} does not fit on {link.name}",
                found=str(link.shape.mtu),
                allowed=f"{need} or more",
            )
            return


def check_switchml_fault(problems: Problems, placed: Placed, transport: Transport | None, ranks: int | None) -> None:
    """`ranks`: of a job; None where that is not known. Faults tell datagrams apart by their bytes alone, so that only how
    often one came can be asked for; and what is made of RoCE packets cannot be made of them."""
    path, kind, fault = placed
    if not isinstance(fault, PacketFault):
        return
    if transport is not None and transport.framing == "uc":
        check_uc_fault(problems, path, kind, fault.match, transport, ranks)
        return
    if kind in _ROCE_ONLY:
        problems.add(
            (*path, "kind"),
            f"{_NEVER}it is made for RoCE packets, and switchml sends none",
            found=kind,
            allowed="loss, burst, drop, duplicate, reorder, delay, link_down, rate_change, kill, pause",
            hint=None if kind == "forge" else "or transport.framing: uc",
        )
    for key, value in _given(fault.match).items():
        if value is not None:
            problems.add(
                (*path, "match", key),
                f"{_NEVER}switchml sends no RoCE packets",
                allowed="attempt, on the links and directions of the fault",
            )


def _given(match: Match) -> dict[str, object]:
    return {
        "opcode": match.opcodes, "syndrome": match.syndrome, "psn_offset": match.psn_offset, "message": match.message,
        "packet": match.packet, "rank": match.source_rank,
    }  # fmt: skip


def check_switchml_nics(problems: Problems, job: Job, nics: Sequence[tuple[str, str]]) -> None:
    """A device does the RC protocol; SwitchML is datagrams of our own."""
    if job.collective == "switchml":
        for host, device in nics:
            problems.add(
                ("nics", host),
                "switchml does not run on RDMA devices",
                found=f"verbs:{device}",
                allowed="soft",
            )
