"""The core of programs `atp` and `esa`: aggregators whose indices workers choose by a hash, first come first served.

A packet goes from its worker towards the parameter server; on its way the switch adds it to the slot that it names, or,
when the slot serves another block, lets it pass. What the switch does with a packet is decided by `tables`, what a
packet is by `judge`, which ones are for it by `entrance`; here are the actions, and in `sender` what leaves. See
`docs/atp.md` and `docs/esa.md`.
"""

from __future__ import annotations

from collections.abc import Callable

from switch_nodes.aggregators.checks import check_aggregator_jobs, check_knobs
from switch_nodes.aggregators.entrance import CONTRIBUTIONS, ENTRANCE_REASONS, Entrance
from switch_nodes.aggregators.judge import SlotJudge
from switch_nodes.aggregators.memory import Aggregator
from switch_nodes.aggregators.packets import Arrival, answer_empty
from switch_nodes.aggregators.sender import AggregatorSender
from switch_nodes.aggregators.served import ServedJob
from switch_nodes.aggregators.tables import DROP_REASONS, SlotAction, SlotEvent, aggregator_table
from switch_nodes.config import SwitchConfig
from switch_nodes.jobs import AggregatorKnobs
from workloads.automaton import UNFORESEEN, words
from workloads.datagrams.blocks import Collided, ContributionIgnored, MemoryAtEnd, SlotChanged, SlotMixed
from workloads.machine import Buffer
from workloads.wire.aggregation import DatagramError, DatagramFlag, DatagramKind, Policy, decode_datagram

__all__ = ["AggregatorProgram"]

_ECN, _OVERFLOW = int(DatagramFlag.ECN), int(DatagramFlag.OVERFLOW)
_COLLISION = int(DatagramFlag.COLLISION)
_AGES: dict[str, Callable[[int], int]] = {
    "none": lambda priority: priority,
    "minus1": lambda priority: max(0, priority - 1),
    "shift1": lambda priority: priority >> 1,
}
_COUNTERS = (
    "data_in", "results_in", "reminders_in", "results_out", "completed", "repeated", "passed", "collided", "evicted",
    "flushed", "reminded", "answered_empty", "reclaimed", "freed", "bypassed", "unexpected", "ghosts_at_end",
)  # fmt: skip


class AggregatorProgram(AggregatorSender):
    """Serves `SwitchConfig.jobs`. Everything that is not for them passes as through a plain switch."""

    policy = Policy.ATP
    judge_class = SlotJudge
    job_class = ServedJob
    entrance_class = Entrance
    counter_names = (*AggregatorSender.counter_names, *_COUNTERS, *ENTRANCE_REASONS, *DROP_REASONS.values())

    def __init__(self, config: SwitchConfig, knobs: AggregatorKnobs) -> None:
        """Raises ScenarioError for jobs and knobs that cannot be served."""
        check_knobs(config.name, knobs)
        check_aggregator_jobs(config)
        super().__init__(config, knobs)
        self._traced = config.trace
        self.judge = self.judge_class(self.memory, knobs)
        self.served = {job.job: self.job_class(job) for job in config.jobs}
        self._entrance = self.entrance_class(self.served, self.policy)
        self._table = aggregator_table(knobs)
        self._age = _AGES[knobs.age]
        self._handlers = self.handlers()

    def receive_frame(self, port: int, frame: Buffer, now: int) -> None:
        self._now = now
        try:
            found = decode_datagram(frame)
        except DatagramError as error:
            self._ignore(ContributionIgnored(-1, -1, -1, -1, error.reason))
            return
        arrival = None if found is None else self._entrance.admit(port, frame, found)
        if arrival is None:
            self.count("bypassed")
            self.forward(port, frame)
        elif isinstance(arrival, ContributionIgnored):
            self._ignore(arrival)
        else:
            self._handle(arrival)

    def _handle(self, a: Arrival) -> None:
        if a.block not in a.served.delivered:
            a.served.touch(self._now)
        kind = a.found.header.kind
        if kind in CONTRIBUTIONS:
            self.count("data_in")
            self._step(a, self.judge.of_contribution(a))
        elif kind == DatagramKind.RESULT:
            self.count("results_in")
            a.served.delivered.setdefault(a.block, self._now)
            self._step(a, self.judge.of_result(a))
        elif self.knobs.reminder:
            self.count("reminders_in")
            self._step(a, self.judge.of_reminder(a))
        else:
            self._drop(a, "unexpected")

    def _step(self, a: Arrival, event: SlotEvent) -> None:
        index = a.found.header.slot
        before = self.memory.state(index)
        after, action = self._table[before, event]
        if self._traced:
            names = words(before, event, after)
            self.tell(SlotChanged(a.served.job, index, 0, a.block, a.rank, *names))
        self._handlers[action](a)

    def handlers(self) -> dict[SlotAction, Callable[[Arrival], object]]:
        """What is done for each action of the table."""
        return {
            SlotAction.ADD: self.add,
            SlotAction.SEND_SUM: self.send_sum,
            SlotAction.RELEASE: self.release,
            SlotAction.REPEAT_SUM: self.repeat_sum,
            SlotAction.PASS: self.pass_on,
            SlotAction.COLLIDE: self.collide,
            SlotAction.EVICT: self.evict,
            SlotAction.RECLAIM: self.reclaim,
            SlotAction.FLUSH: self.flush,
            SlotAction.FREE: self.free_and_deliver,
            SlotAction.DELIVER: self.deliver,
            SlotAction.REMIND: self.send_reminded,
            SlotAction.ANSWER_EMPTY: self.answer_empty,
            SlotAction.DROP_DUPLICATE: self.drop_duplicate,
            SlotAction.DROP_MISMATCH: self.drop_mismatch,
            SlotAction.UNFORESEEN: self.drop_unforeseen,
        }

    def add(self, a: Arrival) -> Aggregator:
        """Into its slot, which is empty or its own."""
        index = a.found.header.slot
        slot = self.memory.slots[index] or self.memory.take(index, a.served, a.found, self._now)
        self._enter(slot, a)
        return slot

    def _enter(self, slot: Aggregator, a: Arrival) -> None:
        """By what the elements are, not by what the judge took them for: the checker is there to find a wrong judge."""
        header = a.found.header
        if slot.owner != (header.job, header.sequence, header.tensor):
            self.tell(SlotMixed(a.served.job, a.block, a.rank, header.slot, slot.served.job, slot.block))
        slot.add(a.found, a.congested)

    def send_sum(self, a: Arrival) -> None:
        """The last packet goes on with the sum; the slot keeps it until the server's result comes."""
        slot = self.add(a)
        self._complete(slot)
        self._send_slot(a, slot, "complete")

    def release(self, a: Arrival) -> None:
        """As `send_sum`, but nobody is waited for: the slot is free, and a sum of the whole job goes to its workers."""
        slot, served = self.add(a), a.served
        self._complete(slot)
        if not served.collects:
            self._send_slot(a, slot, "complete")
        else:
            self._tell_sum(a, slot)
            flags = (_ECN if slot.congested else 0) | (_OVERFLOW if slot.overflow else 0)
            header = slot.header_of(a.found.header)._replace(
                kind=DatagramKind.RESULT, flags=flags, new_slot=a.found.header.slot
            )
            self._send_result(a, header, slot.payload, from_service=True)
        self.memory.free(a.found.header.slot, self._now)

    def repeat_sum(self, a: Arrival) -> None:
        slot = self._note(a)
        self.count("repeated")
        self._send_slot(a, slot, "repeated")

    def pass_on(self, a: Arrival) -> None:
        self.count("passed")
        self._send_on(a, 0)

    def collide(self, a: Arrival) -> None:
        header = a.found.header
        slot = self._occupant(header.slot)
        self.count("collided")
        self.tell(Collided(a.served.job, a.block, a.rank, header.slot, slot.served.job, slot.block))
        slot.priority = self._age(slot.priority)
        self._send_on(a, _COLLISION)

    def evict(self, a: Arrival) -> None:
        """One in, one out."""
        occupant = self._occupant(a.found.header.slot)
        if occupant.block not in occupant.served.delivered:
            occupant.served.touch(self._now)
        self._send_occupant(a, "evicted")
        self.add(a)

    def reclaim(self, a: Arrival) -> None:
        """What is inside belongs to a block that is complete; then the packet meets an empty slot."""
        self.count("reclaimed")
        self.memory.free(a.found.header.slot, self._now)
        self._step(a, self.judge.of_contribution(a))

    def flush(self, a: Arrival) -> None:
        """What is inside leaves with the packet. Of the two bitmaps one is in the other, or they have nothing in
        common: packets bring one worker, or some of another rack, whose workers are inside together, or the whole sum.
        """
        index, bitmap = a.found.header.slot, a.found.header.bitmap0
        slot = self._occupant(index)
        if slot.bitmap & ~bitmap == 0 and slot.bitmap != bitmap:
            self.pass_on(a)  # it has all that the slot has, and more
        else:
            if not slot.bitmap & bitmap:
                self._enter(slot, a)
            self.count("flushed")
            self._send_slot(a, slot, "flushed")
        self.memory.free(index, self._now)

    def free_and_deliver(self, a: Arrival) -> None:
        self.count("freed")
        self.memory.free(a.found.header.slot, self._now)
        self.deliver(a)

    def deliver(self, a: Arrival) -> None:
        """A result to all goes to all; one that repairs a loss of one worker just passes."""
        if a.found.dst_ip == a.served.config.service_ip:
            header = a.found.header
            self._send_result(a, header._replace(flags=a.flags()), a.found.payload, from_service=False)
        else:
            self.forward(a.port, a.frame)

    def send_reminded(self, a: Arrival) -> None:
        self._send_occupant(a, "reminded")
        self._spread(a)

    def answer_empty(self, a: Arrival) -> None:
        self.count("answered_empty")
        self._emit_to(a.served.server, answer_empty(a))
        self._spread(a)

    def drop_duplicate(self, a: Arrival) -> None:
        self._note(a)
        self._drop(a, "duplicate")

    def drop_mismatch(self, a: Arrival) -> None:
        self._drop(a, "mismatch")

    def drop_unforeseen(self, a: Arrival) -> None:
        self._drop(a, UNFORESEEN)

    def _note(self, a: Arrival) -> Aggregator:
        """A copy counts nowhere, but its mark and its priority are news."""
        slot = self._occupant(a.found.header.slot)
        slot.congested |= a.congested
        slot.priority = max(slot.priority, a.found.header.priority)
        return slot

    def _complete(self, slot: Aggregator) -> None:
        self.count("completed")
        if slot.block not in slot.served.delivered:
            slot.served.useful_ns += self._now - slot.opened

    def clear(self, gone: ServedJob) -> None:
        """At once its slots are empty for the others; what it still sends passes on to its server."""
        for index, slot in enumerate(self.memory.slots):
            if slot is not None and slot.served is gone:
                self.memory.free(index, self._now)

    def tell_end(self, served: ServedJob) -> None:
        """What late copies opened after their block's result is no leftover of a job: the control plane clears it. A
        whole sum that was there before its result should have left with it."""
        left = 0
        for slot in self.memory.slots:
            if slot is None or slot.served is not served:
                continue
            delivered_at = served.delivered.get(slot.block)
            if slot.bitmap == slot.target:
                left += delivered_at is not None and slot.opened < delivered_at
            elif delivered_at is None:
                left += 1
            else:
                self.count("ghosts_at_end")
        self.tell(
            MemoryAtEnd(
                served.job, served.config.first_slot, served.config.slots, left, served.config.slots, served.peak,
                served.busy_ns, served.useful_ns,
            )
        )  # fmt: skip

    def _drop(self, a: Arrival, reason: str) -> None:
        self._ignore(ContributionIgnored(a.served.job, a.rank, a.block, a.found.header.slot, reason))

    def _ignore(self, event: ContributionIgnored) -> None:
        self.count(event.reason)
        self.tell(event)
