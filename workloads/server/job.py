"""One job at a parameter server: decides with the table what becomes of each packet, and what leaves because of it."""

from __future__ import annotations

import heapq
from array import array
from collections.abc import Callable
from typing import Any

from workloads.automaton import words
from workloads.datagrams.arrival import Arrival
from workloads.datagrams.blocks import (
    BlockLost,
    BlockReplayed,
    BlockSummed,
    ContributionIgnored,
    JobResumed,
    ServerStatistics,
    SlotChanged,
)
from workloads.datagrams.slots import SlotTable
from workloads.datagrams.worker_sets import ranks_in
from workloads.machine import Event
from workloads.server.block import Block
from workloads.server.config import JobOfServer
from workloads.server.held import HeldBack
from workloads.server.kinds import served_kinds
from workloads.server.sender import JobSender
from workloads.server.tables import BLOCK_TABLE, DROP_REASONS, BlockAction, BlockEvent, BlockState
from workloads.wire import Envelope
from workloads.wire.aggregation import DatagramFlag, DatagramKind

__all__ = ["JobServer"]

_LATER = 3
"""number of later blocks that must overtake a block before the server asks for it"""
_MOST_DOUBLINGS = 4
_DATA, _EXPONENTS, _RESULT = int(DatagramKind.DATA), int(DatagramKind.EXPONENTS), int(DatagramKind.RESULT)
_NACK, _REMINDER, _EMPTY = int(DatagramKind.NACK), int(DatagramKind.REMINDER), int(DatagramKind.REMINDER_EMPTY)
_RESEND, _COLLISION, _EVICTED = int(DatagramFlag.RESEND), int(DatagramFlag.COLLISION), int(DatagramFlag.EVICTED)
_ECN, _OVERFLOW = int(DatagramFlag.ECN), int(DatagramFlag.OVERFLOW)
_UNKNOWN, _OPEN, _DONE, _LOST = BlockState.UNKNOWN, BlockState.OPEN, BlockState.DONE, BlockState.LOST
_IS_COPY, _IS_NEW, _IS_COMPLETING = BlockEvent.COPY, BlockEvent.NEW, BlockEvent.COMPLETING
_IS_WHOLE, _IS_ASKED, _IS_STRAY = BlockEvent.WHOLE, BlockEvent.ASKED, BlockEvent.STRAY
_STATES, _ACTIONS, _CAUSES = tuple(BlockState), tuple(BlockAction), len(BlockEvent)


class JobServer(JobSender):
    """`envelope`: of results for all. `asks_again`: the server was restarted, and asks the workers for what it lost. A
    subclass may override its methods."""

    def __init__(self, job: JobOfServer, envelope: Envelope, *, asks_again: bool = False, trace: bool = False) -> None:
        JobSender.__init__(self, job, envelope)
        self._trace, self._window = trace, job.window
        self._asks = job.remind or asks_again
        self._strict = served_kinds()[job.kind].server_completes and not asks_again
        """whether it has seen every block from its beginning, so that it knows which workers go ahead of the results"""
        self._blocks: list[Block | None] = [None] * (job.cached_windows * job.window)
        self._open: dict[int, Block] = {}
        self._timers: list[tuple[int, int]] = []
        """(deadline, block)"""
        self._slots = SlotTable(job.job, job.window, job.memory, job.salt)
        self._policy, self._op, self._elements = int(self._header.policy), self._header.op, job.elements
        self._memory = job.memory
        self._time = Arrival()
        """stand-in for a packet when a deadline is over"""
        self._time.bitmap = self._everybody
        after, actions = BLOCK_TABLE.numbered(BlockState, BlockEvent)
        self._after: Any = array("q", after)
        self._actions: Any = array("q", actions)
        self._held = HeldBack(job.gradient_blocks)
        self._broken_at: int | None = None
        self.newest = -1 if asks_again else 0
        """block that is near to those that come; -1: a restarted server that has heard of none"""
        self.events: list[Event] = []
        self._counts: dict[str, int] = {}
        self._kinds: dict[str, int] = {}
        handlers = self.handlers()
        self._handlers = [handlers.get(action) for action in BlockAction]
        """handlers by number of the action; None: the packet is dropped"""

    def fits(self, a: Arrival) -> bool:
        """Whether a packet may be of this job at all."""
        return (
            a.policy == self._policy
            and a.op == self._op
            and a.count <= self._elements
            and a.slot < self._memory
            and self._names_workers(a)
        )

    def _names_workers(self, a: Arrival) -> bool:
        """A switch that has nothing (REMINDER_EMPTY) names none."""
        if self._sets.is_wide:
            a.bitmap = self._sets.meant(a.bitmap, 0 if a.kind == _EMPTY else a.bitmap1, a.node)
        least = 0 if a.kind == _EMPTY else 1
        return least <= a.bitmap <= self._everybody

    def receive(self, number: int, a: Arrival, now: int) -> None:
        """A packet that `fits`."""
        self.newest = max(self.newest, number, 0)
        kind = self._kind_of(a)
        self._kinds[kind] = self._kinds.get(kind, 0) + 1
        block = self._find(number)
        event = self._classify(block, number, a)
        if (a.kind == _DATA or a.kind == _EXPONENTS) and (block.state is _UNKNOWN or block.state is _OPEN):
            block.hear(a)
        self._step(block, event, a, now)
        if block.state is _OPEN and a.flags & _EVICTED:
            self.ask_missing(block, a, now)

    def get_timer(self) -> int | None:
        timers = self._timers
        while timers and not self._is_armed(*timers[0]):
            heapq.heappop(timers)
        return timers[0][0] if timers else None

    def handle_timer(self, now: int) -> None:
        while (due := self.get_timer()) is not None and due <= now:
            block = self._open[heapq.heappop(self._timers)[1]]
            self._step(block, BlockEvent.DUE, self._time, now)

    def reset(self, because: int) -> None:
        """Forget all blocks that are not complete. Sum and bitmap go together, so packets that come again are added
        once. An empty block keeps its place: late copies of the one that had it before are still two windows old.
        `because`: time of the event that makes it necessary, in ns."""
        self._broken_at = because
        for block in self._open.values():
            self._blocks[block.number % len(self._blocks)] = self._empty(block.number)
        self._open.clear()

    def statistics(self) -> ServerStatistics:
        names = ("blocks", "copies", "replays", "overlaps", "ignored", "reminders", "nacks", "moved", "rejected")
        statistics = {name: self._counts.get(name, 0) for name in names}
        received = self._counts.get("bytes", 0)
        return ServerStatistics(self._job.job, received, dict(self._kinds), **statistics, open=len(self._open))

    def count(self, name: str, more: int) -> None:
        """For the statistics."""
        self._counts[name] = self._counts.get(name, 0) + more

    def _find(self, number: int) -> Block:
        """The block, or an empty one for one that is not kept (any more, or yet)."""
        found = self._blocks[number % len(self._blocks)]
        if found is not None and found.number == number:
            return found
        fresh: Block = self._empty(number)
        if number < 0 or (found is not None and found.number > number):
            fresh.state = BlockState.GONE
        return fresh

    def _empty(self, number: int) -> Block:
        return Block(number, len(self._job.members), saturating=self._saturating)

    def _classify(self, block: Block, number: int, a: Arrival) -> BlockEvent:
        state, asks, whole = block.state, a.flags & _RESEND != 0, a.bitmap == self._everybody
        if a.kind == _RESULT:
            return _IS_COPY
        if a.kind == _EMPTY:
            return BlockEvent.REFUSED if a.bitmap else BlockEvent.NOTHING_THERE
        if state is _UNKNOWN:
            before = number - self._window
            if self._strict and before >= 0 and self._find(before).state is not _DONE:
                return BlockEvent.OVERRUN
            return _IS_WHOLE if whole else _IS_NEW
        if state is _OPEN:
            if a.count != block.size or a.tensor != block.tensor:
                return BlockEvent.MISMATCH
            if whole:
                block.answers = max(0, block.answers - asks)
                return _IS_WHOLE
            completes = a.bitmap | block.bitmap == self._everybody
            if not a.bitmap & block.bitmap:
                return _IS_COMPLETING if completes else _IS_NEW
            if not block.is_wider(a.bitmap):
                return BlockEvent.OVERLAP
            return BlockEvent.WIDER_COMPLETING if completes else BlockEvent.WIDER
        if state is _LOST and whole:
            return _IS_WHOLE
        if whole and asks and block.answers:
            block.answers -= 1
            return _IS_STRAY  # several workers were asked for it, and had it
        return _IS_ASKED if asks or whole else _IS_STRAY

    def _step(self, block: Block, event: BlockEvent, a: Arrival, now: int) -> None:
        before = block.state
        step = before.number * _CAUSES + event.number
        block.state = _STATES[self._after[step]]
        if self._trace:
            names = words(before, event, block.state)
            self.events.append(SlotChanged(self._job.job, a.slot, 0, block.number, _only_rank(a.bitmap), *names))
        action = self._actions[step]
        handler = self._handlers[action]
        if handler is None:
            self._ignore(block, a, _ACTIONS[action], "ignored")
        else:
            handler(block, a, now)

    def handlers(self) -> dict[BlockAction, Callable[[Block, Arrival, int], None]]:
        """What is done for each action of the table but plain drops: (block, packet, now)."""
        return {
            BlockAction.STORE: self.store,
            BlockAction.ADD: self.add,
            BlockAction.ADD_AND_SEND: self.add_and_send,
            BlockAction.SWAP: self.swap,
            BlockAction.SWAP_AND_SEND: self.swap_and_send,
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

    def store(self, block: Block, a: Arrival, now: int) -> None:
        self._hold(block, a.slot)
        block.replace(a)
        if self._asks:
            self._arm(block, now + self._job.rto_ns)

    def add(self, block: Block, a: Arrival, now: int) -> None:
        block.add(a)

    def add_and_send(self, block: Block, a: Arrival, now: int) -> None:
        block.add(a)
        self._complete(block, now)

    def swap(self, block: Block, a: Arrival, now: int) -> None:
        block.swap(a)

    def swap_and_send(self, block: Block, a: Arrival, now: int) -> None:
        self.swap(block, a, now)
        self._complete(block, now)

    def replace_and_send(self, block: Block, a: Arrival, now: int) -> None:
        self._hold(block, a.slot)
        block.replace(a)
        self._complete(block, now)

    def keep(self, block: Block, a: Arrival, now: int) -> None:
        self._hold(block, a.slot)
        block.replace(a)
        block.collided = False  # who has the result already does not move
        self.count("copies", 1)
        self._seal(block, now)

    def replay(self, block: Block, a: Arrival, now: int) -> None:
        if a.bitmap == self._everybody:
            self.events.append(BlockReplayed(self._job.job, -1, block.number, block.slot))
            self.count("replays", self._send_to_all(block))
            return
        only = _only_rank(a.bitmap)
        for rank in ranks_in(a.bitmap) if only < 0 else (only,):
            self.events.append(BlockReplayed(self._job.job, rank, block.number, block.slot))
            self.count("replays", 1)
            self._send(rank, block)

    def remind(self, block: Block, a: Arrival, now: int) -> None:
        """Ask the switch first. Ask the workers the second time, or at once where no switch holds anything."""
        reminds = self._job.remind and self._job.multicast
        if block.reminders or not reminds:
            self._ask_missing(block)
        if reminds:
            block.awaits_switch = True
            self.count("reminders", 1)
            self.departures.append(self._about(block, _REMINDER))
        block.reminders += 1
        self._arm(block, now + (self._job.rto_ns << min(block.reminders, _MOST_DOUBLINGS)))

    def ask_missing(self, block: Block, a: Arrival, now: int) -> None:
        """The first of several switches that answers a reminder speaks for all."""
        if block.awaits_switch:
            self._ask_missing(block)

    def _ask_missing(self, block: Block) -> None:
        block.awaits_switch = False
        missing = list(ranks_in(self._everybody & ~block.bitmap))
        block.answers = len(missing)
        for rank in missing:
            self.count("nacks", 1)
            self._give(rank, self._about(block, _NACK))

    def give_up(self, block: Block, a: Arrival, now: int) -> None:
        self._open.pop(block.number, None)
        self._tell_lost(block, block.bitmap, _only_rank(a.bitmap))

    def tell_lost(self, block: Block, a: Arrival, now: int) -> None:
        self._tell_lost(block, a.bitmap, -1)

    def tell_gone(self, block: Block, a: Arrival, now: int) -> None:
        """Who still waits for it fails and says so; who does not knows it for a late copy."""
        self._refuse(block, a.bitmap)

    def pass_over(self, block: Block, a: Arrival, now: int) -> None:
        pass

    def drop_overlap(self, block: Block, a: Arrival, now: int) -> None:
        self._ignore(block, a, BlockAction.DROP_OVERLAP, "overlaps")

    def _ignore(self, block: Block, a: Arrival, action: BlockAction, counter: str) -> None:
        self.count(counter, 1)
        ignored = (
            self._job.job,
            _only_rank(a.bitmap),
            block.number,
            a.slot,
            DROP_REASONS[action],
        )
        self.events.append(ContributionIgnored(*ignored))

    def _hold(self, block: Block, slot: int) -> None:
        """The block takes the place of the one two windows before, which no worker waits for. A worker that sends this
        block has the sum of the block one window before. That sum holds parts of workers that all had the sum two
        windows before."""
        at = block.number % len(self._blocks)
        former = self._blocks[at]
        if former is not None and former is not block:
            self._open.pop(former.number, None)
        self._blocks[at] = block
        entry = block.number % self._window
        if slot != self._slots.slot_of(entry):
            self._slots.move(entry, slot)  # it moved before we were there to know
        if block.state is _OPEN:
            self._open[block.number] = block

    def _complete(self, block: Block, now: int) -> None:
        self.count("blocks", 1)
        self.events.append(BlockSummed(self._job.job, block.number, block.slot, tuple(block.entered)))
        if self._broken_at is not None:
            self.events.append(JobResumed(self._job.job, block.number, now - self._broken_at))
            self._broken_at = None
        self._seal(block, now)
        for ready in self._held.release(block):
            self._send_to_all(ready)

    def _seal(self, block: Block, now: int) -> None:
        """Finish the block: its sum, and the flags and slot that results carry from now on."""
        entry = block.number % self._window
        self._open.pop(block.number, None)
        flags = (_ECN if block.marked else 0) | (_OVERFLOW if block.overflow else 0)
        new = self._slots.slot_of(entry)
        if block.collided:
            proposed = self._slots.propose(entry)
            if proposed != new:
                self._slots.move(entry, proposed)
                self.count("moved", 1)
                new, flags = proposed, flags | _COLLISION
        block.seal(self._result_of(block, flags, new))
        if not self._asks:
            return
        for other in self._open.values():
            if other.number < block.number:
                other.later += 1
                if other.later == _LATER and not other.reminders:
                    self._arm(other, now)

    def _kind_of(self, a: Arrival) -> str:
        """For the statistics."""
        if a.kind == _RESULT:
            return "copy"
        if a.kind == _EMPTY:
            return "reminder_empty"
        if a.flags & _EVICTED:
            return "evicted"
        if a.flags & _COLLISION:
            return "collided"
        if a.flags & _RESEND:
            return "resend"
        if a.bitmap == self._everybody:
            return "whole"
        return "data" if a.bitmap & (a.bitmap - 1) == 0 else "partial"

    def _tell_lost(self, block: Block, bitmap: int, missing: int) -> None:
        self.events.append(BlockLost(self._job.job, block.number, tuple(ranks_in(bitmap)), missing))
        self._refuse(block, bitmap)

    def _refuse(self, block: Block, bitmap: int) -> None:
        for rank in ranks_in(bitmap):
            self._give(rank, self._about(block, _EMPTY))

    def _arm(self, block: Block, deadline: int) -> None:
        block.deadline = deadline
        heapq.heappush(self._timers, (deadline, block.number))

    def _is_armed(self, deadline: int, number: int) -> bool:
        block = self._open.get(number)
        return block is not None and block.deadline == deadline


def _only_rank(bitmap: int) -> int:
    """The rank of a bitmap of one worker; -1 for several."""
    return bitmap.bit_length() - 1 if bitmap & (bitmap - 1) == 0 else -1
