"""One job at a parameter server: decides with the table what becomes of each packet, and what leaves because of it."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Iterable
from typing import NamedTuple

from workloads.atp.config import KINDS
from workloads.atp.slots import SlotTable
from workloads.automaton import words
from workloads.datagrams.blocks import (
    BlockLost,
    BlockReplayed,
    BlockSummed,
    ContributionIgnored,
    JobResumed,
    ServerStatistics,
    SlotChanged,
)
from workloads.machine import Event
from workloads.server.block import Block
from workloads.server.config import ServedJob
from workloads.server.held import HeldBack
from workloads.server.tables import BLOCK_TABLE, DROP_REASONS, BlockAction, BlockEvent, BlockState
from workloads.wire.aggregation import SEQUENCES, AggregationHeader, DatagramFlag, DatagramKind

__all__ = ["Departure", "JobServer"]

_LATER = 3
"""a block that so many later ones overtook is asked for"""
_MOST_DOUBLINGS = 4


class Departure(NamedTuple):
    """A datagram that wants to leave."""

    rank: int | None
    """of the worker that it goes to; None: to the switch"""
    header: AggregationHeader
    payload: bytes = b""


class JobServer:
    """`asks_again`: the server started anew, and asks the workers for what it lost."""

    def __init__(self, job: ServedJob, server: bytes, *, asks_again: bool = False, trace: bool = False) -> None:
        self._job, self._trace = job, trace
        self._everybody = (1 << len(job.members)) - 1
        self._asks = job.remind or asks_again
        self._strict = KINDS[job.kind].server_completes and not asks_again
        """it has seen every block from its beginning, so that it knows who goes ahead of the results"""
        self._blocks: list[Block | None] = [None] * (job.cached_windows * job.window)
        self._open: dict[int, Block] = {}
        self._timers: list[tuple[int, int]] = []
        """(deadline, block)"""
        self._slots = SlotTable(job.job, job.window, job.memory, job.salt)
        self._header = AggregationHeader(
            KINDS[job.kind].policy, DatagramKind.RESULT, job.job, 0, 0, self._everybody, len(job.members),
            op=int(job.arithmetic.dtype == "int32sat"), server=int.from_bytes(server, "big"),
        )  # fmt: skip
        self._held = HeldBack(job.gradient_blocks)
        self._broken_at: int | None = None
        self.newest: int | None = None if asks_again else 0
        """block that is near to those that come; None: a server that started anew and has heard of none"""
        self.departures: list[Departure] = []
        self.events: list[Event] = []
        self.counts: Counter[str] = Counter()
        self._kinds: Counter[str] = Counter()
        self._handlers = self.handlers()

    def fits(self, header: AggregationHeader) -> bool:
        """Whether a packet may be of this job at all."""
        ours = self._header
        return (
            (header.policy, header.op) == (ours.policy, ours.op)
            and header.nelem <= self._job.elements
            and header.slot < self._job.memory
            and header.bitmap0 <= self._everybody
            and (header.bitmap0 > 0 or header.kind == DatagramKind.REMINDER_EMPTY)
        )

    def receive(self, number: int, header: AggregationHeader, payload: memoryview, *, marked: bool, now: int) -> None:
        """A packet that `fits`."""
        self.newest = max(self.newest or 0, number)
        self._kinds[_kind_of(header, self._everybody)] += 1
        block = self._find(number)
        event = self._classify(block, number, header)
        if header.kind in _SUMMANDS and block.state in (BlockState.UNKNOWN, BlockState.OPEN):
            block.hear(header, marked=marked)
        self._step(block, event, header, payload, now)
        if block.state is BlockState.OPEN and header.flags & DatagramFlag.EVICTED:
            self.ask_missing(block, header, payload, now)

    def get_timer(self) -> int | None:
        timers = self._timers
        while timers and not self._is_armed(*timers[0]):
            heapq.heappop(timers)
        return timers[0][0] if timers else None

    def handle_timer(self, now: int) -> None:
        while (due := self.get_timer()) is not None and due <= now:
            block = self._open[heapq.heappop(self._timers)[1]]
            self._step(block, BlockEvent.DUE, self._header, memoryview(b""), now)

    def reset(self, because: int) -> None:
        """Forget all that is not complete: sum and bitmap together, so that what comes of it once more is added once.
        An empty block keeps its place: late copies of the one that had it before are still two windows old. `because`:
        when that happened which makes it necessary, in ns."""
        self._broken_at = because
        for block in self._open.values():
            self._blocks[block.number % len(self._blocks)] = self._empty(block.number)
        self._open.clear()

    def statistics(self) -> ServerStatistics:
        counts = self.counts
        names = ("blocks", "copies", "replays", "overlaps", "ignored", "reminders", "nacks", "moved", "rejected")
        statistics = {name: counts[name] for name in names}
        return ServerStatistics(self._job.job, counts["bytes"], dict(self._kinds), **statistics, open=len(self._open))

    def _find(self, number: int) -> Block:
        """The block, or an empty one for one that is not kept (any more, or yet)."""
        found = self._blocks[number % len(self._blocks)]
        if found is not None and found.number == number:
            return found
        fresh = self._empty(number)
        if number < 0 or (found is not None and found.number > number):
            fresh.state = BlockState.GONE
        return fresh

    def _empty(self, number: int) -> Block:
        return Block(number, len(self._job.members), saturating=self._job.arithmetic.dtype == "int32sat")

    def _state_of(self, number: int) -> BlockState:
        return self._find(number).state

    def _classify(self, block: Block, number: int, header: AggregationHeader) -> BlockEvent:
        state, bitmap, asks = block.state, header.bitmap0, bool(header.flags & DatagramFlag.RESEND)
        whole = bitmap == self._everybody
        if header.kind == DatagramKind.RESULT:
            return BlockEvent.COPY
        if header.kind == DatagramKind.REMINDER_EMPTY:
            return BlockEvent.REFUSED if bitmap else BlockEvent.NOTHING_THERE
        if state is BlockState.UNKNOWN:
            before = number - self._job.window
            if self._strict and before >= 0 and self._state_of(before) is not BlockState.DONE:
                return BlockEvent.OVERRUN
            return BlockEvent.WHOLE if whole else BlockEvent.NEW
        if state is BlockState.OPEN:
            if header.nelem != block.size or header.tensor != block.tensor:
                return BlockEvent.MISMATCH
            if whole:
                block.answers = max(0, block.answers - asks)
                return BlockEvent.WHOLE
            if bitmap & block.bitmap:
                return BlockEvent.OVERLAP
            return BlockEvent.COMPLETING if bitmap | block.bitmap == self._everybody else BlockEvent.NEW
        if state is BlockState.LOST and whole:
            return BlockEvent.WHOLE
        if whole and asks and block.answers:
            block.answers -= 1
            return BlockEvent.STRAY  # several workers were asked for it, and had it
        return BlockEvent.ASKED if asks or whole else BlockEvent.STRAY

    def _step(self, block: Block, event: BlockEvent, header: AggregationHeader, payload: memoryview, now: int) -> None:
        before = block.state
        block.state, action = BLOCK_TABLE[before, event]
        if self._trace:
            rank = _only_rank(header.bitmap0)
            names = words(before, event, block.state)
            self.events.append(SlotChanged(self._job.job, header.slot, 0, block.number, rank, *names))
        if action in _PLAIN_DROPS:
            self._ignore(block, header, action)
        else:
            self._handlers[action](block, header, payload, now)

    def handlers(self) -> dict[BlockAction, Callable[[Block, AggregationHeader, memoryview, int], None]]:
        """What is done for each action of the table but plain drops: (block, header and payload of the packet, now)."""
        return {
            BlockAction.STORE: self.store,
            BlockAction.ADD: self.add,
            BlockAction.ADD_AND_SEND: self.add_and_send,
            BlockAction.REPLACE_AND_SEND: self.replace_and_send,
            BlockAction.KEEP: self.keep,
            BlockAction.REPLAY: self.replay,
            BlockAction.REMIND: self.remind,
            BlockAction.ASK_MISSING: self.ask_missing,
            BlockAction.GIVE_UP: self.give_up,
            BlockAction.TELL_LOST: self.tell_lost,
            BlockAction.TELL_GONE: self.tell_gone,
            BlockAction.PASS: self.pass_over,
            BlockAction.DROP_OVERLAP: self.drop_overlap,
        }

    def store(self, block: Block, header: AggregationHeader, payload: memoryview, now: int) -> None:
        self._hold(block, header.slot)
        block.replace(header, payload)
        if self._asks:
            self._arm(block, now + self._job.rto_ns)

    def add(self, block: Block, header: AggregationHeader, payload: memoryview, now: int) -> None:
        block.add(header, payload)

    def add_and_send(self, block: Block, header: AggregationHeader, payload: memoryview, now: int) -> None:
        block.add(header, payload)
        self._complete(block, now)

    def replace_and_send(self, block: Block, header: AggregationHeader, payload: memoryview, now: int) -> None:
        self._hold(block, header.slot)
        block.replace(header, payload)
        self._complete(block, now)

    def keep(self, block: Block, header: AggregationHeader, payload: memoryview, now: int) -> None:
        self._hold(block, header.slot)
        block.replace(header, payload)
        block.collided = False  # who has the result already does not move
        self.counts["copies"] += 1
        self._seal(block, now)

    def replay(self, block: Block, header: AggregationHeader, payload: memoryview, now: int) -> None:
        if header.bitmap0 == self._everybody:
            self.events.append(BlockReplayed(self._job.job, -1, block.number, block.slot))
            self.counts["replays"] += self._send_to_all(block)
            return
        for rank in _ranks(header.bitmap0):
            self.events.append(BlockReplayed(self._job.job, rank, block.number, block.slot))
            self.counts["replays"] += 1
            self._send(rank, block)

    def remind(self, block: Block, header: AggregationHeader, payload: memoryview, now: int) -> None:
        """First the switch is asked, and the workers with the second time, or where no switch holds anything."""
        reminds = self._job.remind and self._job.multicast
        if block.reminders or not reminds:
            self._ask_missing(block)
        if reminds:
            block.awaits_switch = True
            self.counts["reminders"] += 1
            self.departures.append(Departure(None, self._about(block, DatagramKind.REMINDER)))
        block.reminders += 1
        self._arm(block, now + (self._job.rto_ns << min(block.reminders, _MOST_DOUBLINGS)))

    def ask_missing(self, block: Block, header: AggregationHeader, payload: memoryview, now: int) -> None:
        """The first of several switches that answers a reminder speaks for all."""
        if block.awaits_switch:
            self._ask_missing(block)

    def _ask_missing(self, block: Block) -> None:
        block.awaits_switch = False
        missing = _ranks(self._everybody & ~block.bitmap)
        block.answers = len(missing)
        for rank in missing:
            self.counts["nacks"] += 1
            self.departures.append(Departure(rank, self._about(block, DatagramKind.NACK)))

    def give_up(self, block: Block, header: AggregationHeader, payload: memoryview, now: int) -> None:
        self._open.pop(block.number, None)
        self._tell_lost(block, block.bitmap, _only_rank(header.bitmap0))

    def tell_lost(self, block: Block, header: AggregationHeader, payload: memoryview, now: int) -> None:
        self._tell_lost(block, header.bitmap0, -1)

    def tell_gone(self, block: Block, header: AggregationHeader, payload: memoryview, now: int) -> None:
        """Who still waits for it fails and says so; who does not knows it for a late copy."""
        self._refuse(block, header.bitmap0)

    def pass_over(self, block: Block, header: AggregationHeader, payload: memoryview, now: int) -> None:
        pass

    def drop_overlap(self, block: Block, header: AggregationHeader, payload: memoryview, now: int) -> None:
        self._ignore(block, header, BlockAction.DROP_OVERLAP, "overlaps")

    def _ignore(self, block: Block, header: AggregationHeader, action: BlockAction, counter: str = "ignored") -> None:
        self.counts[counter] += 1
        ignored = (
            self._job.job,
            _only_rank(header.bitmap0),
            block.number,
            header.slot,
            DROP_REASONS[action],
        )
        self.events.append(ContributionIgnored(*ignored))

    def _hold(self, block: Block, slot: int) -> None:
        """The block takes the place of the one two windows before, which nobody waits for: who sends this one has the
        sum of the block one window before, and that one holds parts of workers that all had the sum of the block before
        it."""
        at = block.number % len(self._blocks)
        former = self._blocks[at]
        if former is not None and former is not block:
            self._open.pop(former.number, None)
        self._blocks[at] = block
        if slot != self._slots[entry := block.number % self._job.window]:
            self._slots.move(entry, slot)  # it moved before we were there to know
        if block.state is BlockState.OPEN:
            self._open[block.number] = block

    def _complete(self, block: Block, now: int) -> None:
        self.counts["blocks"] += 1
        self.events.append(BlockSummed(self._job.job, block.number, block.slot, tuple(block.entered)))
        if self._broken_at is not None:
            self.events.append(JobResumed(self._job.job, block.number, now - self._broken_at))
            self._broken_at = None
        self._seal(block, now)
        for ready in self._held.release(block):
            self._send_to_all(ready)

    def _seal(self, block: Block, now: int) -> None:
        """The sum is there, and what is told with it from now on."""
        entry = block.number % self._job.window
        self._open.pop(block.number, None)
        flags = DatagramFlag.ECN * block.marked | DatagramFlag.OVERFLOW * block.overflow
        new = self._slots[entry]
        if block.collided and (proposed := self._slots.propose(entry)) != new:
            self._slots.move(entry, proposed)
            self.counts["moved"] += 1
            new, flags = proposed, flags | DatagramFlag.COLLISION
        payload = block.take_payload()
        block.result = self._about(block, DatagramKind.RESULT)._replace(
            nelem=len(payload) // 4, flags=int(flags), exponent0=block.exponents[0], exponent1=block.exponents[1],
            new_slot=new,
        )  # fmt: skip
        for other in self._open.values() if self._asks else ():
            if other.number < block.number:
                other.later += 1
                if other.later == _LATER and not other.reminders:
                    self._arm(other, now)

    def _about(self, block: Block, kind: DatagramKind) -> AggregationHeader:
        return self._header._replace(
            kind=kind, sequence=(block.number + 1) % SEQUENCES, slot=block.slot, tensor=block.tensor,
            priority=block.priority,
        )  # fmt: skip

    def _send_to_all(self, block: Block) -> int:
        """How many frames that are."""
        goals = (None,) if self._job.multicast else range(len(self._job.members))
        for goal in goals:
            self._send(goal, block)
        return len(goals)

    def _send(self, rank: int | None, block: Block) -> None:
        assert block.result is not None, "the block is done"
        self.departures.append(Departure(rank, block.result, block.payload))

    def _tell_lost(self, block: Block, bitmap: int, missing: int) -> None:
        self.events.append(BlockLost(self._job.job, block.number, tuple(_ranks(bitmap)), missing))
        self._refuse(block, bitmap)

    def _refuse(self, block: Block, bitmap: int) -> None:
        for rank in _ranks(bitmap):
            self.departures.append(Departure(rank, self._about(block, DatagramKind.REMINDER_EMPTY)))

    def _arm(self, block: Block, deadline: int) -> None:
        block.deadline = deadline
        heapq.heappush(self._timers, (deadline, block.number))

    def _is_armed(self, deadline: int, number: int) -> bool:
        block = self._open.get(number)
        return block is not None and block.deadline == deadline


_PLAIN_DROPS = DROP_REASONS.keys() - {BlockAction.DROP_OVERLAP}
_SUMMANDS = frozenset((DatagramKind.DATA, DatagramKind.EXPONENTS))


def _ranks(bitmap: int) -> list[int]:
    return [rank for rank in range(bitmap.bit_length()) if bitmap >> rank & 1]


def _only_rank(bitmap: int) -> int:
    """The rank of a bitmap of one worker; -1 for several."""
    return bitmap.bit_length() - 1 if bitmap & (bitmap - 1) == 0 else -1


def _kind_of(header: AggregationHeader, everybody: int) -> str:
    """For the statistics."""
    if header.kind == DatagramKind.RESULT:
        return "copy"
    if header.kind == DatagramKind.REMINDER_EMPTY:
        return "reminder_empty"
    for flag, name in _FLAG_NAMES:
        if header.flags & flag:
            return name
    if header.bitmap0 == everybody:
        return "whole"
    return "data" if _only_rank(header.bitmap0) >= 0 else "partial"


_FLAG_NAMES: Iterable[tuple[DatagramFlag, str]] = (
    (DatagramFlag.EVICTED, "evicted"),
    (DatagramFlag.COLLISION, "collided"),
    (DatagramFlag.RESEND, "resend"),
)
