"""Which packets are for an aggregator program, and which of these are fit to be looked at."""

from __future__ import annotations

from collections.abc import Mapping

from switch_nodes.aggregators.packets import Arrival
from switch_nodes.aggregators.served import ServedJob
from switch_nodes.jobs import JobMember
from workloads.datagrams.blocks import ContributionIgnored
from workloads.machine import Buffer
from workloads.wire.aggregation import AggregationHeader, Datagram, DatagramFlag, DatagramKind, Policy

__all__ = ["CONTRIBUTIONS", "ENTRANCE_REASONS", "Entrance"]

CONTRIBUTIONS = (DatagramKind.DATA, DatagramKind.EXPONENTS)
"""kinds that are added; the latter carry exponents alone"""
ENTRANCE_REASONS = ("checksum", "malformed", "wrong_port", "bad_slot")
_TOS, _CE = 15, 3
_ECN, _RESEND, _EDGE = int(DatagramFlag.ECN), int(DatagramFlag.RESEND), int(DatagramFlag.EDGE)


class Entrance:
    """Contributions on their way to a job's server, results from it, and its reminders. All else is other people's:
    NACKs, other policies, jobs that are not served here, and what crosses a switch that has no part in the sum."""

    def __init__(self, served: Mapping[int, ServedJob], policy: Policy) -> None:
        self.served, self.policy = served, policy

    def admit(self, port: int, frame: Buffer, found: Datagram) -> Arrival | ContributionIgnored | None:
        """None: it passes as through a plain switch."""
        header = found.header
        served = self.served.get(header.job)
        if served is None or header.policy != self.policy:
            return None
        member = None
        if header.kind in CONTRIBUTIONS:
            if not served.config.adds:
                return None
            member = served.by_ip.get(found.src_ip)
            if found.dst_ip != served.server.ip or not served.adds_from(member, header.sequence):
                return None
            problem = _contribution(port, found, served, member)
        elif _is_from_above(found, served) and served.has_results_of(header.sequence):
            problem = _from_above(port, found, served)
        else:
            return None
        rank = -1 if member is None else member.rank
        if problem is not None:
            return ContributionIgnored(header.job, rank, (header.sequence - 1) & 0xFFFFFFFF, header.slot, problem)
        congested = frame[_TOS] & _CE == _CE or bool(header.flags & _ECN)
        return Arrival(served, rank, port, frame, found, congested)


def _contribution(port: int, found: Datagram, served: ServedJob, member: JobMember | None) -> str | None:
    """What is wrong with it."""
    header, config = found.header, served.config
    if member is None and found.src_ip != config.service_ip:
        return "malformed"
    if not served.comes_by(port, member, header.sequence):
        return "wrong_port"
    if not config.first_slot <= header.slot <= served.last_slot:
        return "bad_slot"
    bitmap, edge = header.bitmap0, bool(header.flags & _EDGE)
    if (
        not bitmap
        or bitmap & ~served.everyone
        or header.nelem > config.elements
        or header.op != served.op
        or header.fan_in1 != served.fan_in1
        or (member is not None and header.fan_in0 != served.fan_in0[member.rank])
    ):
        return "malformed"
    if header.flags & _RESEND and bitmap == served.everyone and not edge:
        return None  # the whole sum, as an answer to a NACK
    return None if served.may_hold(port, member, header.sequence, bitmap, edge=edge) else "malformed"


def _is_from_above(found: Datagram, served: ServedJob) -> bool:
    header: AggregationHeader = found.header
    to_service = found.dst_ip == served.config.service_ip
    if header.kind == DatagramKind.RESULT:
        return to_service or found.dst_ip in served.by_ip
    return header.kind == DatagramKind.REMINDER and to_service


def _from_above(port: int, found: Datagram, served: ServedJob) -> str | None:
    """From the server; at a rack's switch also from the switch that collects."""
    if found.src_ip != served.server.ip and (served.collects or found.src_ip != served.config.service_ip):
        return "malformed"
    if not served.is_above(port, found.header.sequence):
        return "wrong_port"
    if not served.config.first_slot <= found.header.slot <= served.last_slot:
        return "bad_slot"
    return None
