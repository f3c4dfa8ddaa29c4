"""What must hold between the keys of a scenario whose collective is SwitchML."""

from __future__ import annotations

from collections.abc import Sequence

from testbed.faults.model import Match, PacketFault
from testbed.scenario.fault_loader import Placed
from testbed.scenario.model import Job, SwitchOptions, Transport
from testbed.scenario.problems import KeyPath, Problems
from topologies import LinkShape, Topology
from workloads.wire import Opcode, opcode_name
from workloads.wire.aggregation import AGGREGATION_OVERHEAD_BYTES, MAX_ELEMENTS

__all__ = ["check_switchml", "check_switchml_fault", "check_switchml_nics"]

_MOST_WORKERS = 32
_ETHERNET = 14
_VERSIONS = 2
_ROCE_ONLY = ("corrupt", "ecn_mark", "forge")
_NEVER = "the fault can never strike: "


def check_switchml(
    problems: Problems, topology: Topology, shape: LinkShape, switch: SwitchOptions, transport: Transport, job: Job
) -> None:
    """The bitmap has 32 bits, a packet 256 elements at most, an index two versions, and integers are summed."""
    if job.collective != "switchml":
        if job.copies > 1:
            problems.add(
                ("job", "copies"),
                "only switchml runs several jobs side by side",
                found=str(job.copies),
                allowed="1, or job.collective: switchml",
            )
        _check_no_framing(problems, transport, job)
        return
    _check_framing(problems, transport, job)
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
    if hosts // job.copies > _MOST_WORKERS:
        problems.add(
            ("job", "collective"),
            "more workers than bits",
            found=f"{hosts // job.copies} hosts",
            allowed=f"at most {_MOST_WORKERS} in a job",
        )
    if job.op != "sum":
        problems.add(("job", "op"), "switchml only sums", found=f"'{job.op}'", allowed="sum")
    if job.dtype not in ("float32", "int32"):
        problems.add(
            ("job", "dtype"),
            "switchml sums 32-bit integers that wrap",
            found=f"'{job.dtype}'",
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
    values = _VERSIONS * job.copies * transport.uc_packets
    if switch.memory < values:
        of_packets = f" of {transport.uc_packets} packets" if transport.uc_packets > 1 else ""
        problems.add(
            ("switch", "memory"),
            f"no slot{of_packets} for every job: each has a shadow copy",
            found=f"{switch.memory} for {job.copies} job{'s' if job.copies > 1 else ''}",
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


def _check_no_framing(problems: Problems, transport: Transport, job: Job) -> None:
    for key, found, only in (
        ("framing", f"'{transport.framing}'", "'udp'"),
        ("uc_packets", str(transport.uc_packets), "1"),
    ):
        if found != only:
            problems.add(
                ("transport", key),
                f"collective {job.collective} has one framing",
                found=found,
                allowed="leave the key out, or job.collective: switchml",
            )


def _check_framing(problems: Problems, transport: Transport, job: Job) -> None:
    if transport.framing == "udp" and transport.uc_packets > 1:
        problems.add(
            ("transport", "uc_packets"),
            "a datagram is one packet",
            found=str(transport.uc_packets),
            allowed="1, or transport.framing: uc",
        )
    elif job.window_packets < transport.uc_packets:
        problems.add(
            ("job", "window_packets"),
            "the window holds no message",
            found=f"{job.window_packets}, and {transport.uc_packets} packets of a message",
            allowed=f"{transport.uc_packets} or more",
        )


def check_switchml_fault(problems: Problems, placed: Placed, transport: Transport | None, ranks: int | None) -> None:
    """`ranks`: of a job; None where that is not known. Faults tell datagrams apart by their bytes alone, so that only how
    often one came can be asked for; and what is made of RoCE packets cannot be made of them."""
    path, kind, fault = placed
    if not isinstance(fault, PacketFault):
        return
    if transport is not None and transport.framing == "uc":
        _check_uc_fault(problems, path, kind, fault.match, transport, ranks)
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


def _check_uc_fault(
    problems: Problems, path: KeyPath, kind: str, match: Match, transport: Transport, ranks: int | None
) -> None:
    """Queue pairs, opcodes and PSNs are known beforehand; messages are not, since each repetition is one more."""
    if kind == "forge":
        problems.add(
            (*path, "kind"),
            f"{_NEVER}forgeries are made of packets of reliable connections",
            found=kind,
            allowed="loss, burst, drop, corrupt, duplicate, reorder, delay, ecn_mark, link_down, rate_change, kill, pause",
        )
    sent = _uc_opcodes(transport.uc_packets)
    if match.opcodes is not None and not match.opcodes & sent:
        problems.add(
            (*path, "match", "opcode"),
            f"{_NEVER}no such packet is sent in messages of {transport.uc_packets}",
            found=", ".join(opcode_name(code) for code in sorted(match.opcodes)),
            allowed=f"data, {', '.join(opcode_name(code) for code in sorted(sent))}",
        )
    if match.syndrome is not None:
        problems.add(
            (*path, "match", "syndrome"),
            f"{_NEVER}nothing is acknowledged on an unreliable connection",
            found=f"{match.syndrome:#04x}",
            allowed="leave the key out",
        )
    if match.message is not None or match.packet not in (None, 0, -1):
        key, found = ("message", match.message) if match.message is not None else ("packet", match.packet)
        problems.add(
            (*path, "match", key),
            "messages on unreliable connections are not planned: each repetition is one more",
            found=str(found),
            allowed="opcode, psn_offset, rank, and packet: 0 or last",
        )
    if match.attempt is not None and match.attempt > 1:
        problems.add(
            (*path, "match", "attempt"),
            f"{_NEVER}a repetition is a message of its own, with PSNs of its own",
            found=str(match.attempt),
            allowed="1",
        )
    if ranks is not None and match.source_rank is not None and match.source_rank >= ranks:
        problems.add(
            (*path, "match", "rank"),
            f"{_NEVER}no such rank",
            found=str(match.source_rank),
            allowed=f"0 to {ranks - 1}",
        )


def _uc_opcodes(packets: int) -> frozenset[int]:
    """Of messages of at most `packets` packets."""
    longer = (Opcode.UC_WRITE_FIRST, Opcode.UC_WRITE_LAST_IMM) if packets > 1 else ()
    longest = (Opcode.UC_WRITE_MIDDLE,) if packets > 2 else ()
    return frozenset(map(int, (Opcode.UC_WRITE_ONLY_IMM, *longer, *longest)))


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
