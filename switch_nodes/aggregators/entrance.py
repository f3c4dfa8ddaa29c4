"""Which packets are for an aggregator program, and which of these are fit to be looked at."""

from __future__ import annotations

from switch_nodes.aggregators.arrival import AggregatorArrival
from switch_nodes.aggregators.served import ServedJob
from workloads.wire.aggregation import DatagramFlag, DatagramKind, Policy

__all__ = ["ENTRANCE_REASONS", "Entrance"]

ENTRANCE_REASONS = ("checksum", "malformed", "wrong_port", "bad_slot")
_DATA, _EXPONENTS = int(DatagramKind.DATA), int(DatagramKind.EXPONENTS)
_RESULT, _REMINDER = int(DatagramKind.RESULT), int(DatagramKind.REMINDER)
_RESEND, _EDGE = int(DatagramFlag.RESEND), int(DatagramFlag.EDGE)


class Entrance:
    """Contributions on their way to a job's server, results from it, and its reminders. Everything else does not belong
    here: NACKs, other policies, jobs that are not served here, and what crosses a switch that has no part in the sum.
    """

    def __init__(self, served: dict[int, ServedJob], policy: Policy) -> None:
        self.served, self.policy = served, int(policy)

    def admit(self, a: AggregatorArrival) -> str | None:
        """Empty: it is for the program, and its job and sender are in it now; else what is wrong with it. None: it
        passes as through a plain switch."""
        served = self.served.get(a.job)
        if served is None or a.policy != self.policy:
            return None
        a.served = served
        if a.kind == _DATA or a.kind == _EXPONENTS:
            if not served.adds:
                return None
            a.rank = served.ranks.get(a.source, -1)
            if a.destination != served.server_address or not served.adds_from(a.rank, a.sequence):
                return None
            problem = self._contribution(a)
        elif self._is_from_above(a) and served.has_results_of(a.sequence):
            problem = self._from_above(a)
        else:
            return None
        a.wanted = served.target_of(a.sequence)
        return problem

    def _contribution(self, a: AggregatorArrival) -> str:
        """What is wrong with it."""
        served = a.served
        assert served is not None
        if a.rank < 0 and a.source != served.service:
            return "malformed"
        if not served.comes_by(a.port, a.rank, a.sequence):
            return "wrong_port"
        if not served.first_slot <= a.slot <= served.last_slot:
            return "bad_slot"
        edge = a.flags & _EDGE != 0
        if served.is_wide:
            a.bitmap = served.sets.meant(a.bitmap, a.bitmap1, a.node)
        if (
            a.bitmap <= 0
            or a.bitmap & ~served.everyone
            or a.count > served.elements
            or a.op != served.op
            or a.fan_in1 != served.fan_in1
            or (a.rank >= 0 and a.fan_in != served.fan_in0[a.rank])
        ):
            return "malformed"
        if a.flags & _RESEND and a.bitmap == served.everyone and not edge:
            return ""  # the whole sum, as an answer to a NACK
        return "" if served.may_hold(a.port, a.rank, a.sequence, a.bitmap, edge) else "malformed"

    def _is_from_above(self, a: AggregatorArrival) -> bool:
        served = a.served
        assert served is not None
        to_service = a.destination == served.service
        if a.kind == _RESULT:
            return to_service or a.destination in served.ranks
        return a.kind == _REMINDER and to_service

    def _from_above(self, a: AggregatorArrival) -> str:
        """From the server; at a rack's switch also from the switch that collects."""
        served = a.served
        assert served is not None
        if a.source != served.server_address and (served.collects or a.source != served.service):
            return "malformed"
        if not served.is_above(a.port, a.sequence):
            return "wrong_port"
        return "" if served.first_slot <= a.slot <= served.last_slot else "bad_slot"
