"""What every protocol over aggregation datagrams asks of a scenario."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from testbed.faults.model import PacketFault
from testbed.reading.problems import KeyPath, Problems
from testbed.reading.units import format_duration
from testbed.scenario.keys.fault_loader import Placed
from testbed.scenario.keys.job import Job
from testbed.scenario.keys.transport import Transport
from testbed.scenario.transports import transport_of
from workloads.datagrams.problems import MAX_WORKERS
from workloads.datagrams.worker_sets import MAX_RACKS, WIDTH
from workloads.transports.timing import LEAST_RTO_NS

__all__ = ["check_datagram_fault", "check_no_devices", "check_racks", "check_rto", "check_sizes"]

_ROCE_ONLY = ("corrupt", "ecn_mark", "forge")
_TOO_MANY = "more workers than field bitmap0 of a packet has bits"
_NEVER = "the fault can never hit: "


def check_sizes(problems: Problems, entries: Sequence[tuple[KeyPath, Job]], workers: int) -> None:
    """Field `bitmap0` has 32 bits. `workers`: of the one job, where there are no `entries` of `jobs`."""
    if not entries and workers > MAX_WORKERS:
        allowed = f"at most {MAX_WORKERS} in a job"
        problems.add(("job", "protocol"), _TOO_MANY, found=f"{workers} hosts", allowed=allowed)
    for path, each in entries:
        size, counted = len(each.hosts), (*path, "workers") in problems.places
        if size > MAX_WORKERS:
            problems.add(
                (*path, "workers" if counted else "hosts"), _TOO_MANY,
                found=str(size) if counted else f"{size} hosts",
                allowed=f"2 to {MAX_WORKERS}" if counted else f"at most {MAX_WORKERS} in a job",
            )  # fmt: skip


def check_racks(problems: Problems, path: KeyPath, racks: Iterable[int]) -> None:
    """Of a job whose packets name workers by rack: `bitmap0` has the workers of a rack, `bitmap1` the racks. `racks`:
    workers of each."""
    sizes = list(racks)
    if sum(sizes) <= MAX_WORKERS:
        return
    if max(sizes) > WIDTH:
        problems.add(
            path, "more workers at one switch than field bitmap0 of a packet has bits", found=f"{max(sizes)} hosts",
            allowed=f"at most {WIDTH} of a job at one switch, at most {MAX_RACKS} switches with workers",
        )  # fmt: skip
    elif len(sizes) > MAX_RACKS:
        problems.add(
            path, "workers at more switches than field bitmap1 of a packet has bits", found=f"{len(sizes)} switches",
            allowed=f"at most {MAX_RACKS} switches with workers of a job",
        )  # fmt: skip


def check_rto(problems: Problems, transport: Transport) -> None:
    if transport.rto_ns is not None and transport.rto_ns < LEAST_RTO_NS:
        found, allowed = format_duration(transport.rto_ns), f"auto, or {format_duration(LEAST_RTO_NS)} or more"
        problems.add(("transport", "rto"), "out of range", found=found, allowed=allowed)


def check_datagram_fault(problems: Problems, placed: Placed, protocol: str, hint: str | None = None) -> None:
    """What is made of RoCE packets cannot be made of datagrams, and a match names kinds that the transport has.
    `hint`: where it could."""
    path, kind, fault = placed
    if not isinstance(fault, PacketFault):
        return
    if kind in _ROCE_ONLY:
        problems.add(
            (*path, "kind"),
            f"{_NEVER}it is made for RoCE packets, and {protocol} sends none",
            found=kind,
            allowed="loss, burst, drop, duplicate, reorder, delay, link_down, rate_change, kill, pause",
            hint=hint,
        )
    match = fault.match
    given = {
        "opcode": match.opcodes, "syndrome": match.syndrome, "psn_offset": match.psn_offset, "message": match.message,
        "packet": match.packet, "rank": match.source_rank,
    }  # fmt: skip
    for key, value in given.items():
        if value is not None:
            problems.add(
                (*path, "match", key),
                f"{_NEVER}{protocol} sends no RoCE packets",
                allowed="kind, sequence, attempt, on the links and directions of the fault",
            )
    kinds = transport_of(protocol).kinds
    if match.kind is not None and match.kind not in kinds:
        problems.add(
            (*path, "match", "kind"), f"{_NEVER}{protocol} sends no such datagram", found=repr(match.kind),
            allowed=", ".join(kinds),
        )  # fmt: skip


def check_no_devices(problems: Problems, job: Job, nics: Sequence[tuple[str, str]]) -> None:
    """A device does the RC protocol; datagrams are of our own."""
    protocol = job.protocol
    for host, device in nics if transport_of(protocol).kinds else ():
        problems.add(
            ("nics", host), f"{protocol} does not run on RDMA devices", found=f"verbs:{device}", allowed="soft"
        )
