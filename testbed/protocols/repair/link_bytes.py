"""What a repair costs on the links, as captured at the switches of its hosts: the table of `workloads.codes.bounds`.

The newcomer gets as many symbols, and the donors send as many, as the code says, each packet once; headers come on top.
The check reports retransmissions, after a fault or because a timer was hasty, but does not count them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path

from testbed.captures.capture import FileCapture
from testbed.checkers.checker import Checker
from testbed.checkers.context import CheckContext
from testbed.history.verdict import CheckResult, Verdict
from testbed.terminal.words import times
from workloads.codes.bounds import RepairCost, mbr_cost, msr_cost, rs_cost
from workloads.repair import RepairConfig
from workloads.wire.aggregation import AGGREGATION_OVERHEAD_BYTES, Datagram, DatagramError, Policy, decode_datagram

__all__ = ["LINK_BYTES", "LinkLoad", "cost_of", "link_bytes", "link_loads", "skip_link_bytes"]

_NAME = "link_bytes"


@dataclass(slots=True)
class LinkLoad:
    """Packets with symbols on one way: into the newcomer, or out of all donors."""

    seen: set[tuple[bytes, int, int]] = field(default_factory=set)
    """(sender, sequence, bitmap)"""
    payload_bytes: int = 0
    """of packets that were not there before"""
    packets: int = 0
    """all"""
    frame_bytes: int = 0
    """of all, from the Ethernet header on"""

    def add(self, found: Datagram) -> None:
        key = found.src_ip, found.header.sequence, found.header.bitmap0
        self.packets += 1
        self.frame_bytes += AGGREGATION_OVERHEAD_BYTES + len(found.payload)
        if key not in self.seen:
            self.seen.add(key)
            self.payload_bytes += len(found.payload)

    @property
    def repeated(self) -> int:
        return self.packets - len(self.seen)


def cost_of(newcomer: RepairConfig) -> RepairCost:
    """In bytes, of one iteration."""
    share = newcomer.share
    file = Fraction(share.code.file_symbols * newcomer.symbol_bytes)
    if share.name == "rs":
        return rs_cost(share.k, file, combined=newcomer.combined)
    return (msr_cost if share.name == "msr" else mbr_cost)(share.k, share.d, file)


def skip_link_bytes(context: CheckContext) -> str | None:
    return None if context.plan.scenario.capture else "the scenario turns the capture off (capture: false)"


def link_bytes(context: CheckContext) -> CheckResult:
    if not context.all_finished:
        return CheckResult(_NAME, Verdict.UNKNOWN, "not every host finished: what would have been sent is not known")
    try:
        loads = link_loads(context)
    except (OSError, ValueError) as error:
        return CheckResult(_NAME, Verdict.UNKNOWN, f"a capture cannot be read: {error}")
    wrong, told = [], []
    for newcomer, (into, out) in loads:
        cost, iterations = cost_of(newcomer), newcomer.workload.iterations
        for load, each, what in (
            (into, cost.ingress, f"{newcomer.name} got"),
            (out, cost.egress, f"the donors of {newcomer.name} sent"),
        ):
            if not load.packets:
                return CheckResult(_NAME, Verdict.UNKNOWN, f"no capture shows what {what}")
            expected = each * iterations
            if load.payload_bytes != expected:
                wrong.append(f"{what} {load.payload_bytes} bytes of symbols, the code says {expected}")
            again = f", {times(load.repeated)} a packet again" if load.repeated else ""
            told.append(f"{what} {load.payload_bytes} bytes of symbols in {load.frame_bytes} of frames{again}")
    if wrong:
        return CheckResult(_NAME, Verdict.FAIL, "; ".join(wrong[:2]), tuple(wrong))
    return CheckResult(_NAME, Verdict.PASS, "as the code says: " + "; ".join(told[:2]), tuple(told))


def link_loads(context: CheckContext) -> list[tuple[RepairConfig, tuple[LinkLoad, LinkLoad]]]:
    """(newcomer, (into it, out of its donors)) of each job. Raises OSError and ValueError for a capture that cannot be
    read."""
    workers = [worker for worker in context.plan.workers if isinstance(worker, RepairConfig)]
    loads = {worker.group: (LinkLoad(), LinkLoad()) for worker in workers}
    at = _switches(context)
    into = {(at[worker.name], worker.answers[0].src_ip): worker.group for worker in workers if worker.is_newcomer}
    out = {(at[worker.name], worker.answers[0].src_ip): worker.group for worker in workers if not worker.is_newcomer}
    for path in context.captures:
        capture = FileCapture(path) if isinstance(path, Path) else path
        for _, captured in capture.read():
            found = _symbols(captured.frame)
            if found is None or (captured.outgoing and captured.comment):
                continue  # what a fault took away was captured when it left
            group = (
                into.get((capture.switch, found.dst_ip))
                if captured.outgoing
                else out.get((capture.switch, found.src_ip))
            )
            if group is not None:
                loads[group][0 if captured.outgoing else 1].add(found)
    return [(worker, loads[worker.group]) for worker in workers if worker.is_newcomer]


def _switches(context: CheckContext) -> dict[str, str]:
    """By host: the switch that it is at."""
    topology = context.plan.scenario.topology
    found = {}
    for host in topology.hosts:
        _, link, _ = next(iter(topology.ports(host.name)))
        found[host.name] = link.b if link.a == host.name else link.a
    return found


def _symbols(frame: bytes) -> Datagram | None:
    """A packet of a repair that carries symbols."""
    try:
        found = decode_datagram(frame)
    except DatagramError:
        return None
    return found if found is not None and found.header.policy == Policy.REPAIR and found.payload else None


LINK_BYTES = Checker(
    _NAME, link_bytes, proves="the newcomer got, and the donors sent, as many bytes as the code says",
    skip=skip_link_bytes,
)  # fmt: skip
