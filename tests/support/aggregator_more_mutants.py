"""More broken ATP and ESA programs, and the cases that find them (`aggregator_cases`, `aggregator_esa_cases`)."""

from __future__ import annotations

from switch_nodes.aggregators.arrival import AggregatorArrival
from switch_nodes.aggregators.core import AggregatorProgram
from switch_nodes.aggregators.entrance import Entrance
from switch_nodes.aggregators.judge import SlotJudge
from switch_nodes.aggregators.memory import Aggregator
from switch_nodes.aggregators.tables import AggregatorEvent, AggregatorState
from switch_nodes.config import SwitchConfig
from switch_nodes.jobs import AggregatorKnobs
from tests.support.aggregator_mutants import Mutant
from workloads.wire import Envelope
from workloads.wire.aggregation import AGGREGATION_PORT, encode_datagram

__all__ = ["MORE_MUTANTS"]


class AlonePreempts(SlotJudge):
    """A packet that is a whole sum by itself evicts, too."""

    def of_contribution(self, a: AggregatorArrival) -> AggregatorEvent:
        event, slot = super().of_contribution(a), self.memory.slots[a.found.header.slot]
        preferred = slot is not None and self.is_preferred(slot, a)
        return AggregatorEvent.OTHER_LOWER if event is AggregatorEvent.OTHER and preferred else event


class ReclaimsFromOthers(SlotJudge):
    """A later number is enough, whoever owns the slot."""

    def of_contribution(self, a: AggregatorArrival) -> AggregatorEvent:
        event, slot = super().of_contribution(a), self.memory.slots[a.found.header.slot]
        if event is AggregatorEvent.OTHER and slot is not None and self.is_successor(slot, a):
            return AggregatorEvent.SUCCESSOR
        return event


class SlotBeforeTheSum(AggregatorProgram):
    """Who brings the whole sum is sent on with the part that is in the slot."""

    def flush(self, a: AggregatorArrival) -> None:
        index = a.found.header.slot
        self._send_slot(a, self._occupant(index), "flushed")
        self.memory.free(index, self._now)


class FreesWhatIsComplete(SlotJudge):
    """A result of an incomplete block frees nothing."""

    def is_owner(self, a: AggregatorArrival) -> bool:
        index = a.found.header.slot
        return super().is_owner(a) and self.memory.state(index) is AggregatorState.DONE


class KeptSumsStay(AggregatorProgram):
    """A complete sum is not evicted."""

    def evict(self, a: AggregatorArrival) -> None:
        if self.memory.state(a.found.header.slot) is AggregatorState.DONE:
            self.collide(a)
        else:
            super().evict(a)


class OverflowsInSilence(AggregatorProgram):
    def add(self, a: AggregatorArrival) -> Aggregator:
        slot = super().add(a)
        slot.overflow = False
        return slot


class BelievesAnybody(AggregatorProgram):
    """Whoever sends a result."""

    def __init__(self, config: SwitchConfig, *more: AggregatorKnobs) -> None:
        super().__init__(config, *more)
        self._entrance = _OpenEntrance(self.served, self.policy)


class _OpenEntrance(Entrance):
    reasons = ("malformed", "wrong_port")

    def admit(self, a: AggregatorArrival) -> str | None:
        problem = super().admit(a)
        if problem in self.reasons:
            a.congested = False
            return ""
        return problem


class FromAnyPort(AggregatorProgram):
    """A packet may come in where its sender is not."""

    def __init__(self, config: SwitchConfig, *more: AggregatorKnobs) -> None:
        super().__init__(config, *more)
        self._entrance = _AnyPort(self.served, self.policy)


class _AnyPort(_OpenEntrance):
    reasons = ("wrong_port",)


class OtherSizesPass(SlotJudge):
    """A packet of another size than what is inside goes on to the server."""

    def of_contribution(self, a: AggregatorArrival) -> AggregatorEvent:
        event = super().of_contribution(a)
        return AggregatorEvent.BYPASS if event is AggregatorEvent.MISMATCH else event


class OwnHeader(AggregatorProgram):
    """What the server said besides the sum is not passed on."""

    def deliver(self, a: AggregatorArrival) -> None:
        found, congested = a.found, a.congested
        header = found.header._replace(flags=0, new_slot=0)
        envelope = Envelope(found.src_mac, a.frame[:6], found.src_ip, found.dst_ip, found.sport, a.frame[15])
        a.read(encode_datagram(envelope, AGGREGATION_PORT, header, found.payload))
        a.congested = congested
        super().deliver(a)


class AnyPolicy(AggregatorProgram):
    """Policies make no difference."""

    def __init__(self, config: SwitchConfig, *more: AggregatorKnobs) -> None:
        super().__init__(config, *more)
        self._entrance = _AnyPolicy(self.served, self.policy)


class _AnyPolicy(Entrance):
    def admit(self, a: AggregatorArrival) -> str | None:
        a.policy = self.policy
        return super().admit(a)


class BusyUntilTheEnd(AggregatorProgram):
    """A leftover counts until the switch stops."""

    def finish(self, now: int) -> None:
        for served in self.served.values():
            served.touch(now)
        super().finish(now)


class KeepsTheSlotsOfTheDeparted(AggregatorProgram):
    def depart(self, job: int) -> bool:
        return self.served.pop(job, None) is not None


MORE_MUTANTS: dict[Mutant, str] = {
    AlonePreempts: "who_is_alone_preempts_nobody",
    ReclaimsFromOthers: "reclaim_is_of_one_job",
    SlotBeforeTheSum: "resent_result",
    FreesWhatIsComplete: "a_result_frees_what_is_incomplete",
    KeptSumsStay: "a_kept_sum_can_be_evicted",
    OverflowsInSilence: "sums_saturate",
    BelievesAnybody: "results_come_from_the_server",
    FromAnyPort: "bad_packets",
    OtherSizesPass: "contradictions",
    OwnHeader: "results_keep_their_header",
    AnyPolicy: "other_traffic",
    BusyUntilTheEnd: "memory_is_told_until_the_last_packet",
    KeepsTheSlotsOfTheDeparted: "who_departs_leaves_its_slots",
}
