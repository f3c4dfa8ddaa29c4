"""What a SwitchML switch does with the packets of its jobs: the greater part of its program, on the compiled path.

What is done with a packet is decided by `tables`; here are the events and the actions.
"""

from __future__ import annotations

from array import array
from typing import Any

import cython

from switch_nodes.config import SwitchConfig
from switch_nodes.forwarding import ForwardProgram
from switch_nodes.switchml.framing import ServiceFraming
from switch_nodes.switchml.pool import Pool
from switch_nodes.switchml.tables import (
    DROP_REASONS,
    LEAF_SLOT_TABLE,
    SLOT_TABLE,
    PoolSlotAction,
    PoolSlotEvent,
    PoolSlotState,
)
from workloads.automaton import words
from workloads.datagrams.arrival import Arrival
from workloads.datagrams.blocks import (
    BlockReplayed,
    BlockSummed,
    ContributionIgnored,
    PartialSent,
    SlotChanged,
    SlotMixed,
)
from workloads.quick import Quick
from workloads.wire.aggregation import DatagramError, DatagramFlag, DatagramKind

if not cython.compiled:
    from switch_nodes.switchml.framing import NOT_OURS, UNFINISHED
    from workloads.kernels import add_words, bit_of, read_words

__all__ = ["Contribution", "PoolService"]

_DATA, _EXPONENTS, _RESULT = int(DatagramKind.DATA), int(DatagramKind.EXPONENTS), int(DatagramKind.RESULT)
_VERSION_FLAG, _SEQUENCES = int(DatagramFlag.VERSION), 1 << 32
_EMPTY, _UNWANTED = int(DatagramFlag.EMPTY), int(DatagramFlag.UNWANTED)
_STATES, _EVENTS, _ACTIONS = tuple(PoolSlotState), tuple(PoolSlotEvent), tuple(PoolSlotAction)
_CAUSES = len(_EVENTS)
_FREE, _FILLING, _DONE, _WAITING = range(4)
_NEW, _COMPLETING, _REPEAT, _MISMATCH, _OVERRUN, _STALE, _MOVED_ON, _LAST_MOVED_ON, _SUM = range(9)
_STORE, _STORE_AND_ANSWER, _REPLAY, _STORE_AND_RAISE, _RAISE, _SPREAD = range(6)
_OF_LEAF = len(_STATES) * _CAUSES
"""where the steps of a leaf begin, behind those of other switches"""


class Contribution(Arrival):
    """A packet and its place."""

    def __init__(self) -> None:
        Arrival.__init__(self)
        self.pool: Pool | None = None
        self.rank = self.named = self.version = self.cell = self.place = self.block = 0
        """rank: of the member in its pool; named: of the worker, or of the first one below a leaf, -1: from the root;
        cell: index within the job's part of the pool; place: of that version of it; block: from 0"""


class PoolService(Quick):
    """Of one switch. A subclass may override what has no underscore."""

    def __init__(self, program: ForwardProgram, config: SwitchConfig, served: dict[int, Pool], framing: ServiceFraming):
        Quick.__init__(self, program._events, program._frames)
        self._program, self._served, self._framing = program, served, framing
        self._traced = config.trace
        after, actions = SLOT_TABLE.numbered(PoolSlotState, PoolSlotEvent)
        leaf_after, leaf_actions = LEAF_SLOT_TABLE.numbered(PoolSlotState, PoolSlotEvent)
        self._after: Any = array("q", after + leaf_after)
        self._actions: Any = array("q", actions + leaf_actions)
        self._now = 0
        self._data_in = self._results_out = self._replayed = self._partials_out = self._sums_in = 0
        self._contribution = Contribution()

    def counters(self) -> dict[str, int]:
        """Since the start, those that are counted here."""
        found = {"data_in": self._data_in, "results_out": self._results_out, "replayed": self._replayed}
        of_leaves = {"partials_out": self._partials_out, "sums_in": self._sums_in}
        return found | {name: count for name, count in of_leaves.items() if name in self._program.counters}

    def take(self, port: int, frame: bytes, now: int) -> None:
        self._now = now
        c = self._contribution
        try:
            brings = self._framing.read(frame, c)
        except DatagramError as error:
            self._ignore(-1, -1, -1, -1, error.reason)
            return
        if brings == NOT_OURS:
            self._program.count("bypassed")
            self._program.forward(port, frame)
        elif brings != UNFINISHED:
            c.block = (c.sequence - 1) % _SEQUENCES
            pool: Pool | None = self._served.get(c.job)
            if pool is not None and pool.leaf >= 0 and c.kind == _RESULT:
                self._sums_in += 1
                if self._place_sum(port, c, pool):
                    self._take_sum(c, pool)
                return
            self._data_in += 1
            if self._place(port, c):
                self._aggregate(c)

    def _place(self, port: int, c: Contribution) -> bool:
        """The slot of a packet; False, and an event, when it has none."""
        pool: Pool | None = self._served.get(c.job)
        rank = -1 if pool is None else pool.member_of(c.source)
        if pool is None or rank < 0 or (c.kind != _DATA and c.kind != _EXPONENTS):
            self._ignore(c.job, -1, -1, c.slot, "malformed")
            return False
        c.pool, c.rank, c.named, c.cell = pool, rank, pool.rank_of(rank), c.slot - pool.first_slot
        if pool.ports[rank] != port:
            self._refuse(c, "wrong_port")
        elif c.cell < 0 or c.cell >= pool.slots:
            self._refuse(c, "bad_slot")
        elif (
            c.bitmap != pool.bits[c.rank]
            or c.fan_in != pool.fan_in
            or c.count > pool.elements
            or c.op
            or (c.flags & _EMPTY and (c.count or c.kind != _DATA))
        ):
            self._refuse(c, "malformed")
        else:
            c.version = self.version_of(c.flags)
            c.place = c.version * pool.slots + c.cell
            return True
        return False

    def _place_sum(self, port: int, c: Contribution, pool: Pool) -> bool:
        """As `_place`, of what the root sends to a leaf."""
        c.pool, c.rank, c.named, c.cell = pool, -1, -1, c.slot - pool.first_slot
        if port != pool.up:
            self._refuse(c, "wrong_port")
        elif c.cell < 0 or c.cell >= pool.slots:
            self._refuse(c, "bad_slot")
        elif (
            c.source != pool.service
            or c.bitmap != bit_of(pool.leaves) - 1
            or c.fan_in != pool.leaves
            or c.count > pool.elements
            or c.op
        ):
            self._refuse(c, "malformed")
        else:
            c.version = self.version_of(c.flags)
            c.place = c.version * pool.slots + c.cell
            return True
        return False

    def _refuse(self, c: Contribution, reason: str) -> None:
        self._ignore(c.job, c.named, c.block, c.slot, reason)

    def version_of(self, flags: int) -> int:
        return 1 if flags & _VERSION_FLAG else 0

    def _aggregate(self, c: Contribution) -> None:
        pool = c.pool
        assert pool is not None
        event = self.slot_event(c)
        before = pool.state(c.place)
        action = self._step(c, c.version, before, event)
        if action > _SPREAD:
            self._refuse(c, DROP_REASONS[_ACTIONS[action]])
            return
        pool.newest[c.rank * pool.slots + c.cell] = c.block
        self.move_on(c)
        if before == _FREE:
            pool.occupy(1, self._now)
        if action == _STORE:
            self.store(c)
        elif action == _STORE_AND_ANSWER:
            self.store_and_answer(c)
        elif action == _STORE_AND_RAISE:
            self.store_and_raise(c)
        elif action == _RAISE:
            self.raise_again(c)
        else:
            self.replay(c)

    def _take_sum(self, c: Contribution, pool: Pool) -> None:
        """No worker's packet: it changes neither bitmaps nor who has moved on."""
        action = self._step(c, c.version, pool.state(c.place), self.sum_event(c))
        if action == _SPREAD:
            self.spread(c)
        else:
            self._refuse(c, DROP_REASONS[_ACTIONS[action]])

    def _step(self, c: Contribution, version: int, before: int, event: int) -> int:
        """The action of the table of this switch, by number."""
        assert c.pool is not None
        step = before * _CAUSES + event
        if c.pool.leaf >= 0:
            step += _OF_LEAF
        if self._traced:
            self._tell_step(c, version, before, event, self._after[step])
        action: int = self._actions[step]
        return action

    def sum_event(self, c: Contribution) -> int:
        """What the root's sum is to its slot, a `PoolSlotEvent` by number. The block decides: a late copy of the sum of
        an older use of the slot is never taken for that of the present one."""
        pool, slot = c.pool, c.place
        assert pool is not None
        if not pool.seen[slot] or self.is_older(c.block, pool.block[slot]):
            return _STALE
        expected = pool.length[slot] if pool.wanted[slot] else 0
        if pool.block[slot] != c.block or (expected >= 0 and c.count != expected):
            return _MISMATCH
        return _SUM

    def slot_event(self, c: Contribution) -> int:
        """What the packet is to its slot, a `PoolSlotEvent` by number; the state is looked at only for what the table
        cannot know."""
        pool, slot = c.pool, c.place
        assert pool is not None
        if self.is_older(c.block, pool.newest[c.rank * pool.slots + c.cell]):
            return _STALE
        seen = pool.seen[slot]
        if seen and (pool.block[slot] != c.block or not self._is_as_long(c)):
            return _MISMATCH
        if seen >> c.rank & 1:
            return _REPEAT
        other = pool.state((1 - c.version) * pool.slots + c.cell)
        if other in (_FILLING, _WAITING):
            return _OVERRUN
        return _COMPLETING if seen | bit_of(c.rank) == pool.everyone else _NEW

    def _is_as_long(self, c: Contribution) -> bool:
        """As what is in its slot already."""
        assert c.pool is not None
        length = c.pool.length[c.place]
        return length == c.count or length < 0 or c.flags & _EMPTY != 0

    def is_older(self, block: int, newest: int) -> bool:
        """Blocks are counted modulo 2^32."""
        return newest >= 0 and 0 < (newest - block) % _SEQUENCES < _SEQUENCES // 2

    def move_on(self, c: Contribution) -> None:
        """Its worker contributes here, so it has the result of the other version."""
        pool = c.pool
        assert pool is not None
        other = (1 - c.version) * pool.slots + c.cell
        seen = pool.seen[other]
        if not seen >> c.rank & 1:
            return
        is_last = seen == bit_of(c.rank)
        if self._traced:
            self._step(c, 1 - c.version, pool.state(other), _LAST_MOVED_ON if is_last else _MOVED_ON)
        pool.seen[other] = seen ^ bit_of(c.rank)
        if is_last:
            pool.occupy(-1, self._now)

    def store(self, c: Contribution) -> None:
        """Add it; the first one with elements overwrites what was there."""
        pool, slot = c.pool, c.place
        assert pool is not None
        if self.is_first(c):
            pool.block[slot], pool.length[slot], pool.wanted[slot] = c.block, -1, 0
            pool.inside[slot], pool.answered[slot], pool.opened[slot] = 0, 0, self._now
            for at in range(slot * pool.size, (slot + 1) * pool.size):
                pool.entered[at] = 0
            pool.exponent0[slot], pool.exponent1[slot] = c.exponent0, c.exponent1
        else:
            if pool.block[slot] != c.block:
                self.events.append(SlotMixed(pool.job, c.block, c.named, c.slot, pool.job, pool.block[slot]))
            if c.exponent0 > pool.exponent0[slot]:
                pool.exponent0[slot] = c.exponent0
            if c.exponent1 > pool.exponent1[slot]:
                pool.exponent1[slot] = c.exponent1
        if c.flags & _EMPTY:
            pass  # zeros
        elif pool.length[slot] < 0:
            pool.length[slot] = c.count
            read_words(pool.values, pool.value_at(slot), c.frame, c.at, c.count)
        else:
            add_words(pool.values, pool.value_at(slot), c.frame, c.at, c.count)
        if not c.flags & _UNWANTED:
            pool.wanted[slot] |= bit_of(c.rank)
        pool.touch(self._now)
        pool.entered[slot * pool.size + c.rank] += 1
        pool.inside[slot] += 1
        pool.seen[slot] |= bit_of(c.rank)

    def is_first(self, c: Contribution) -> bool:
        """Decided by the bitmap: the counter of a complete sum says nothing about who still needs it."""
        assert c.pool is not None
        return not c.pool.seen[c.place]

    def store_and_answer(self, c: Contribution) -> None:
        self.store(c)
        pool, slot = c.pool, c.place
        assert pool is not None
        pool.useful_ns += self._now - pool.opened[slot]
        self.events.append(BlockSummed(pool.job, c.block, c.slot, pool.contributions(slot)))
        self.send_result(c, 0, pool.size)

    def replay(self, c: Contribution) -> None:
        assert c.pool is not None
        self._replayed += 1
        self.events.append(BlockReplayed(c.pool.job, c.named, c.block, c.slot))
        self.send_result(c, c.rank, c.rank + 1)

    def store_and_raise(self, c: Contribution) -> None:
        self.store(c)
        pool = c.pool
        assert pool is not None
        pool.useful_ns += self._now - pool.opened[c.place]
        self._send_up(c, "complete")

    def raise_again(self, c: Contribution) -> None:
        """A worker of the rack still waits. Whichever packet was lost, the root answers this one."""
        self._send_up(c, "repeated")

    def _send_up(self, c: Contribution, reason: str) -> None:
        pool, slot = c.pool, c.place
        assert pool is not None
        self._partials_out += 1
        contributions = pool.contributions(slot)
        self.events.append(PartialSent(pool.job, c.block, c.slot, contributions, pool.rack, reason))
        self._framing.write_up(c, pool, slot, self.outbox)

    def spread(self, c: Contribution) -> None:
        """From now on this is the slot's sum, for those too that ask for it later."""
        pool, slot = c.pool, c.place
        assert pool is not None
        if pool.wanted[slot]:
            pool.length[slot] = c.count
            read_words(pool.values, pool.value_at(slot), c.frame, c.at, c.count)
        pool.exponent0[slot], pool.exponent1[slot] = c.exponent0, c.exponent1
        pool.answered[slot] = 1
        pool.touch(self._now)
        self.send_result(c, 0, pool.size)

    def send_result(self, c: Contribution, first: int, end: int) -> None:
        """The slot's sum to members first .. end - 1."""
        pool, slot = c.pool, c.place
        assert pool is not None
        self._results_out += end - first
        self._framing.write(c, pool, slot, first, end, self.outbox)

    def _ignore(self, job: int, rank: int, block: int, slot: int, reason: str) -> None:
        self._program.count(reason)
        self.events.append(ContributionIgnored(job, rank, block, slot, reason))

    def _tell_step(self, c: Contribution, version: int, state: int, event: int, after: int) -> None:
        assert c.pool is not None
        names = words(_STATES[state], _EVENTS[event], _STATES[after])
        self.events.append(SlotChanged(c.pool.job, c.slot, version, c.block, c.named, *names))
