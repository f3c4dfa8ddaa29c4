"""Order rules of ATP and ESA, judged at switches and servers packet by packet: breaking them costs time and no sum.

- `urgent_first`: a packet takes an occupied slot when its priority is higher than all that the slot has heard, and aged
  since; never else.
- `reclaim_by_window`: with `reclaim` a packet takes the slot of a block that is a window or more older, or of an older
  tensor; never of a newer one.
- `flush_is_whole`: what leaves with a packet that was sent again has that packet's workers inside, and all of the
  slot's.
- `partial_is_whole`: a partial sum leaves with all that entered it.
- `server_keeps_apart`: a server takes each packet for the block that it names, whatever the server has in that place.
"""

from __future__ import annotations

from dataclasses import dataclass

from switch_nodes.config import SwitchConfig
from switch_nodes.jobs import AggregatorKnobs, JobConfig
from testbed.hunt.seen_datagrams import seen_datagram
from testbed.hunt.watch import Tell
from workloads.datagrams.blocks import PartialSent, SlotChanged
from workloads.machine import Event
from workloads.wire.aggregation import AggregationHeader

__all__ = ["AGGREGATOR_RULES", "AggregatorWatch", "ServerWatch"]

AGGREGATOR_RULES = ("urgent_first", "reclaim_by_window", "flush_is_whole", "partial_is_whole", "server_keeps_apart")
_HALF, _COUNT = 1 << 31, (1 << 32) - 1
_ADDED = frozenset(("new", "completing"))
_MET = frozenset(("other", "other_lower", "successor"))
_CLEARED = frozenset(("result_own", "reminder_own", "resend_own", "successor"))


def _header(frame: bytes) -> AggregationHeader | None:
    found = seen_datagram(frame)
    return None if found is None else found.header


@dataclass(slots=True)
class _Slot:
    job: int
    sequence: int
    tensor: int
    bitmap: int = 0
    priority: int = 0

    def add(self, header: AggregationHeader) -> None:
        self.bitmap |= header.bitmap0
        self.priority = max(self.priority, header.priority)


class AggregatorWatch:
    """A Watch over one life of a switch. `knobs`: those that its program heeds."""

    hears_sent = False

    def __init__(self, config: SwitchConfig, knobs: AggregatorKnobs, tell: Tell) -> None:
        self._name, self._knobs, self._tell = config.name, knobs, tell
        self._windows = {job.job: job.window for job in config.jobs}
        self._whole = {job.job: _whole(job) for job in config.jobs}
        self._slots: dict[int, _Slot] = {}
        self._packet: AggregationHeader | None = None
        self._cause = ""
        self._before = 0
        """bitmap of what the slot of the packet held before the last step"""
        self._left: set[str] = set()
        """why partial sums left because of the packet"""

    def came(self, frame: bytes, now: int) -> None:
        self._packet, self._cause, self._left = _header(frame), "", set()

    def told(self, event: Event) -> None:
        packet = self._packet
        if packet is None:
            return
        if isinstance(event, SlotChanged):
            self._step(event, packet)
        elif isinstance(event, PartialSent):
            self._partial(event, packet)

    def handled(self) -> None:
        packet, self._packet = self._packet, None
        if packet is None:
            return
        brings_more = self._before != packet.bitmap0 and not self._before & ~packet.bitmap0
        if self._cause == "resend_own" and brings_more == ("flushed" in self._left):
            self._say(
                "flush_is_whole",
                f"{_ranks(packet.bitmap0)} asked again, inside were {_ranks(self._before)}, and "
                f"{'the less of both' if brings_more else 'nothing'} left slot {packet.slot}",
            )
        evicts = self._cause == "other_lower" and self._knobs.preempt
        if (evicts and "evicted" not in self._left) or (self._cause == "reminder_own" and "reminded" not in self._left):
            self._say("partial_is_whole", f"{_ranks(self._before)} had to leave slot {packet.slot}, and nothing left")

    def left(self, frame: bytes, now: int) -> None:
        pass

    def drained(self) -> None:
        pass

    def woke(self, now: int) -> None:
        pass

    def _step(self, step: SlotChanged, packet: AggregationHeader) -> None:
        slot, cause = self._slots.get(packet.slot), step.cause
        self._cause, self._before = cause, 0 if slot is None else slot.bitmap
        if slot is not None and cause in _MET:
            self._judge_meeting(slot, step, packet)
        if cause in _CLEARED:
            self._slots.pop(packet.slot, None)
        elif cause in _ADDED or (cause == "other_lower" and self._knobs.preempt):
            if slot is None or cause == "other_lower":
                slot = self._slots[packet.slot] = _Slot(packet.job, packet.sequence, packet.tensor)
            slot.add(packet)
            if step.next == "empty":
                del self._slots[packet.slot]
        elif slot is not None and cause == "repeat":
            slot.priority = max(slot.priority, packet.priority)
        elif slot is not None and cause in _MET:
            slot.priority = _aged(slot.priority, self._knobs.age)

    def _judge_meeting(self, slot: _Slot, step: SlotChanged, packet: AggregationHeader) -> None:
        older = self._is_older(slot, packet)
        if older is not None and older != (step.cause == "successor") and self._knobs.reclaim:
            self._say(
                "reclaim_by_window",
                f"{step.cause} for packet {packet.sequence} of tensor {packet.tensor} in slot {packet.slot} of packet "
                f"{slot.sequence} of tensor {slot.tensor}, both of job {slot.job}, window {self._windows[slot.job]}",
            )
        elif step.cause == "successor" and older is None:
            self._say("reclaim_by_window", f"job {packet.job} reclaims slot {packet.slot} of job {slot.job}")
        if step.cause == "successor" or not self._knobs.preempt:
            return
        higher, alone = packet.priority > slot.priority, packet.bitmap0 == self._whole[packet.job]
        if higher != (step.cause == "other_lower") and not (higher and alone):
            self._say(
                "urgent_first",
                f"{step.cause} for a packet of priority {packet.priority} in slot {packet.slot}, whose block has "
                f"{slot.priority}",
            )

    def _is_older(self, slot: _Slot, packet: AggregationHeader) -> bool | None:
        """Whether the packet's sender has the result of what is in the slot; None: it is another job's."""
        if slot.job != packet.job:
            return None
        if slot.tensor != packet.tensor:
            return (packet.tensor - slot.tensor) & _COUNT < _HALF
        return self._windows[slot.job] <= (packet.sequence - slot.sequence) & _COUNT < _HALF

    def _partial(self, event: PartialSent, packet: AggregationHeader) -> None:
        before = self._before
        self._left.add(event.reason)
        if event.reason == "flushed" and self._cause == "resend_own":
            whole = before | packet.bitmap0 if not before & packet.bitmap0 else before
            if event.bitmap != whole or sum(1 for count in event.contributions if count) != whole.bit_count():
                self._say(
                    "flush_is_whole",
                    f"block {event.block} of job {event.job} left slot {event.slot} with {_ranks(event.bitmap)}; "
                    "inside "
                    f"were {_ranks(before)}, and {_ranks(packet.bitmap0)} asked",
                )
        elif event.reason in ("evicted", "reminded") and event.bitmap != before:
            self._say(
                "partial_is_whole",
                f"block {event.block} of job {event.job} left slot {event.slot} with {_ranks(event.bitmap)} "
                f"({event.reason}); "
                f"inside were {_ranks(before)}",
            )

    def _say(self, rule: str, what: str) -> None:
        self._tell(rule, f"{self._name}: {what}")


class ServerWatch:
    """A Watch over one life of a parameter server."""

    hears_sent = False

    def __init__(self, name: str, tell: Tell) -> None:
        self._name, self._tell = name, tell
        self._packet: AggregationHeader | None = None

    def came(self, frame: bytes, now: int) -> None:
        self._packet = _header(frame)

    def told(self, event: Event) -> None:
        packet = self._packet
        if packet is None or not isinstance(event, SlotChanged) or event.job != packet.job:
            return
        if (event.block + 1) & _COUNT != packet.sequence:
            self._tell(
                "server_keeps_apart",
                f"{self._name} took a packet of block {(packet.sequence - 1) & _COUNT} of job {packet.job} for one of "
                f"block {event.block}",
            )

    def handled(self) -> None:
        self._packet = None

    def left(self, frame: bytes, now: int) -> None:
        pass

    def drained(self) -> None:
        pass

    def woke(self, now: int) -> None:
        pass


def _whole(job: JobConfig) -> int:
    """Bitmap of all that a switch has to add for a job: who brings it alone needs no slot."""
    levels = job.levels
    if levels is None or levels.collects:
        return (1 << len(job.members)) - 1
    return 0 if levels.own is None else sum(1 << rank for rank in levels.racks[levels.own])


def _aged(priority: int, age: str) -> int:
    return max(0, priority - 1) if age == "minus1" else priority >> 1 if age == "shift1" else priority


def _ranks(bitmap: int) -> str:
    ranks = [str(rank) for rank in range(bitmap.bit_length()) if bitmap >> rank & 1]
    return f"rank {', '.join(ranks)}" if ranks else "nobody"
