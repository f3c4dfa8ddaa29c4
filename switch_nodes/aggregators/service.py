"""What an aggregator program does with the packets of its jobs, on the compiled path.

A packet goes from its worker towards the parameter server. On its way the switch adds it to the slot that it names.
When that slot serves another block, the packet passes. `tables` decides what the switch does with a packet, `judge`
what a packet is, and `entrance` which packets are for the switch. This module has the actions, and `sender` what
leaves.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cython

from switch_nodes.aggregators.arrival import AggregatorArrival
from switch_nodes.aggregators.entrance import Entrance
from switch_nodes.aggregators.judge import SlotJudge
from switch_nodes.aggregators.memory import Aggregator
from switch_nodes.aggregators.packets import answer_empty
from switch_nodes.aggregators.sender import AggregatorSender
from switch_nodes.aggregators.tables import AggregatorAction
from switch_nodes.jobs import AggregatorKnobs
from workloads.datagrams.blocks import Collided, ContributionIgnored
from workloads.wire.aggregation import DatagramError, DatagramFlag, DatagramKind, decode_datagram

if not cython.compiled:
    from switch_nodes.aggregators.packets import with_flags
    from workloads.wire.inspected import is_sound

__all__ = ["AggregatorService"]

_DATA, _EXPONENTS, _RESULT = int(DatagramKind.DATA), int(DatagramKind.EXPONENTS), int(DatagramKind.RESULT)
_COLLISION = int(DatagramFlag.COLLISION)
_AGES: dict[str, Callable[[int], int]] = {
    "none": lambda priority: priority,
    "minus1": lambda priority: max(0, priority - 1),
    "shift1": lambda priority: priority >> 1,
}


class AggregatorService(AggregatorSender):
    """The greater part of a program, which says by its `entrance_class` and `judge_class` who decides. A subclass may
    override its methods."""

    def __init__(self, knobs: AggregatorKnobs, slots: int, *queues: Any, macs: Any, traced: bool) -> None:
        AggregatorSender.__init__(self, knobs, slots, *queues, macs=macs, traced=traced)
        self.judge: SlotJudge = SlotJudge(self.memory, knobs)
        self._entrance: Entrance | None = None
        """what a program serves it sets, with who decides about it"""
        self._age = _AGES[knobs.age]

    def take(self, port: int, frame: bytes, now: int) -> None:
        self._now = now
        a, entrance = self._arrival, self._entrance
        assert entrance is not None, "the program has one"
        problem = None
        if is_sound(frame):
            a.meet(port, frame)
            problem = entrance.admit(a)
        else:
            try:
                decode_datagram(frame)  # which says why
            except DatagramError as error:
                self._ignore(ContributionIgnored(-1, -1, -1, -1, error.reason))
                return
        if problem is None:
            self._count("bypassed")
            self.forward(port, frame)
        elif problem:
            self._ignore(ContributionIgnored(a.job, a.rank, a.block, a.slot, problem))
        else:
            self._handle(a)

    def forward(self, port: int, frame: bytes) -> None:
        """As a plain switch."""
        raise NotImplementedError

    def _handle(self, a: AggregatorArrival) -> None:
        served = a.served
        assert served is not None
        if a.block not in served.delivered:
            served.touch(self._now)
        if a.kind == _DATA or a.kind == _EXPONENTS:
            self._count("data_in")
            self._step(a, self.judge.of_contribution(a))
        elif a.kind == _RESULT:
            self._count("results_in")
            served.delivered.setdefault(a.block, self._now)
            self._step(a, self.judge.of_result(a))
        elif self.knobs.reminder:
            self._count("reminders_in")
            self._step(a, self.judge.of_reminder(a))
        else:
            self._drop(a, "unexpected")

    def handlers(self) -> dict[AggregatorAction, Callable[[AggregatorArrival], object]]:
        """What is done for each action of the table."""
        return {
            **self.shared_handlers(AggregatorAction),
            AggregatorAction.SEND_SUM: self.send_sum,
            AggregatorAction.RELEASE: self.release,
            AggregatorAction.REPEAT_SUM: self.repeat_sum,
            AggregatorAction.PASS: self.pass_on,
            AggregatorAction.COLLIDE: self.collide,
            AggregatorAction.EVICT: self.evict,
            AggregatorAction.RECLAIM: self.reclaim,
            AggregatorAction.FLUSH: self.flush,
            AggregatorAction.FREE: self.free_and_deliver,
            AggregatorAction.DELIVER: self.deliver,
            AggregatorAction.REMIND: self.send_reminded,
            AggregatorAction.ANSWER_EMPTY: self.answer_empty,
        }

    def send_sum(self, a: AggregatorArrival) -> None:
        """The last packet goes on with the sum; the slot keeps it until the server's result comes."""
        slot = self.add(a)
        self._complete(slot)
        self._send_slot(a, slot, "complete")

    def release(self, a: AggregatorArrival) -> None:
        """As `send_sum`, but without waiting for a result: the slot is free, and a sum of the whole job goes to its
        workers."""
        slot, served = self.add(a), a.served
        assert served is not None
        self._complete(slot)
        if not served.collects:
            self._send_slot(a, slot, "complete")
        else:
            self._tell_sum(a, slot)
            self._send_sum(a, slot)
        self.memory.free(a.slot, self._now)

    def repeat_sum(self, a: AggregatorArrival) -> None:
        slot = self._note(a)
        self._count("repeated")
        self._send_slot(a, slot, "repeated")

    def pass_on(self, a: AggregatorArrival) -> None:
        self._count("passed")
        self._send_on(a, 0)

    def collide(self, a: AggregatorArrival) -> None:
        slot = self._occupant(a.slot)
        self._count("collided")
        self.events.append(Collided(a.job, a.block, a.rank, a.slot, slot.served.job, slot.block))
        slot.priority = self._age(slot.priority)
        self._send_on(a, _COLLISION)

    def evict(self, a: AggregatorArrival) -> None:
        """One in, one out."""
        occupant = self._occupant(a.slot)
        if occupant.block not in occupant.served.delivered:
            occupant.served.touch(self._now)
        self._send_occupant(a, "evicted")
        self.add(a)

    def reclaim(self, a: AggregatorArrival) -> None:
        """What is inside belongs to a block that is complete; then the packet meets an empty slot."""
        self._count("reclaimed")
        self.memory.free(a.slot, self._now)
        self._step(a, self.judge.of_contribution(a))

    def flush(self, a: AggregatorArrival) -> None:
        """What is inside leaves with the packet. Either one of the two bitmaps contains the other, or they have nothing
        in common. Packets bring one worker, or workers of another rack that are all inside together, or the whole sum.
        Where no header names both, parts of two racks of a large job, each leaves for itself.
        """
        slot = self._occupant(a.slot)
        if slot.bitmap & ~a.bitmap == 0 and slot.bitmap != a.bitmap:
            self.pass_on(a)  # it has all that the slot has, and more
        elif slot.served.is_wide and slot.served.sets.named(slot.bitmap | a.bitmap) is None:
            self._send_occupant(a, "flushed")
            self.pass_on(a)
        else:
            if not slot.bitmap & a.bitmap:
                self._enter(slot, a)
            self._count("flushed")
            self._send_slot(a, slot, "flushed")
        self.memory.free(a.slot, self._now)

    def free_and_deliver(self, a: AggregatorArrival) -> None:
        self._count("freed")
        self.memory.free(a.slot, self._now)
        self.deliver(a)

    def deliver(self, a: AggregatorArrival) -> None:
        """A result to all goes to all; one that repairs a loss of one worker just passes."""
        assert a.served is not None
        if a.destination == a.served.service:
            self._send_copies(a, with_flags(a, a.flags_with(0)))
        else:
            self.forward(a.port, a.frame)

    def send_reminded(self, a: AggregatorArrival) -> None:
        self._send_occupant(a, "reminded")
        self._spread(a)

    def answer_empty(self, a: AggregatorArrival) -> None:
        self._count("answered_empty")
        assert a.served is not None
        self._emit_to(a.served.server, answer_empty(a))
        self._spread(a)

    def drop_duplicate(self, a: AggregatorArrival) -> None:
        self._note(a)
        AggregatorSender.drop_duplicate(self, a)

    def _note(self, a: AggregatorArrival) -> Aggregator:
        """A copy counts nowhere, but its mark and its priority are news."""
        slot = self._occupant(a.slot)
        slot.congested = slot.congested or a.congested
        if a.priority > slot.priority:
            slot.priority = a.priority
        return slot

    def _complete(self, slot: Aggregator) -> None:
        self._count("completed")
        if slot.block not in slot.served.delivered:
            slot.served.useful_ns += self._now - slot.opened
