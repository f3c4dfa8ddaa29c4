"""What a repair switch does with the packets of its jobs, on the compiled path.

What is done with a packet is decided by `tables`; here are the events and the actions.
"""

from __future__ import annotations

from array import array
from typing import Any

import cython

from switch_nodes.config import SwitchConfig
from switch_nodes.forwarding import ForwardProgram
from switch_nodes.repair.pool import RepairPool
from switch_nodes.repair.tables import DROP_REASONS, SLOT_TABLE, RepairSlotAction, RepairSlotEvent, RepairSlotState
from workloads.automaton import words
from workloads.codes.gf256 import PRODUCTS
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
from workloads.repair.packets import OP_GF256, OP_XOR
from workloads.wire.aggregation import SEQUENCES, DatagramError, DatagramKind, Policy, decode_datagram

if not cython.compiled:
    from workloads.codes.products import add_products, write_bytes
    from workloads.datagrams.answer import acknowledgement_of
    from workloads.kernels import copy_bytes, finished, new_draft, put8, put16, put32
    from workloads.wire.inspected import (
        AT_BITMAP0,
        AT_EXPONENT0,
        AT_KIND,
        AT_NELEM,
        AT_OP,
        AT_PAYLOAD,
        AT_VERSION,
        is_sound,
        seal,
    )

__all__ = ["RepairArrival", "RepairService"]

_POLICY, _SEQUENCES, _OP_XOR, _OP_GF256 = int(Policy.REPAIR), SEQUENCES, OP_XOR, OP_GF256
_DATA, _RESULT = int(DatagramKind.DATA), int(DatagramKind.RESULT)
_REMINDER, _ACK_KIND = int(DatagramKind.REMINDER), int(DatagramKind.ACK)
_STATES, _EVENTS, _ACTIONS = tuple(RepairSlotState), tuple(RepairSlotEvent), tuple(RepairSlotAction)
_CAUSES = len(_EVENTS)
_FREE, _FILLING, _SENT, _DONE = range(4)
_NEW, _COMPLETING, _REPEAT, _REPEAT_FIRST, _MISMATCH, _OVERRUN, _STALE = range(7)
_QUESTION, _QUESTION_NEWER, _ACK, _ACK_OTHER = range(7, 11)
_STORE, _STORE_AND_SEND, _SEND_AGAIN, _ASK, _ANSWER, _SPREAD = range(6)


class RepairArrival(Arrival):
    """A packet of any kind, and its place."""

    def __init__(self) -> None:
        Arrival.__init__(self)
        self.pool: RepairPool | None = None
        self.port = self.cell = self.block = self.ranks = 0
        """cell: index within the job's part of the memory; block: from 0; ranks: bitmap of the donors below the port
        by which it came, 0: it is from above"""


class RepairService(Quick):
    """Of one switch. A subclass may override what has no underscore."""

    def __init__(self, program: ForwardProgram, config: SwitchConfig, served: dict[int, RepairPool]) -> None:
        Quick.__init__(self, program._events, program._frames)
        self._program, self._served = program, served
        self._traced = config.trace
        self._services = frozenset([int.from_bytes(job.service_ip, "big") for job in config.jobs])
        after, actions = SLOT_TABLE.numbered(RepairSlotState, RepairSlotEvent)
        self._after: Any = array("q", after)
        self._actions: Any = array("q", actions)
        self._products: Any = PRODUCTS
        self._now = 0
        self._data_in = self._sums_out = self._questions_out = self._acks_out = 0
        self._contribution = RepairArrival()

    def counters(self) -> dict[str, int]:
        """Since the start, those that are counted here."""
        return {
            "data_in": self._data_in,
            "sums_out": self._sums_out,
            "questions_out": self._questions_out,
            "acks_out": self._acks_out,
        }

    def take(self, port: int, frame: bytes, now: int) -> None:
        self._now = now
        if not is_sound(frame):
            try:
                decode_datagram(frame)  # which says why
            except DatagramError as error:
                self._ignore(-1, -1, -1, -1, error.reason)
                return
            self._bypass(port, frame)
            return
        c = self._contribution
        c.read(frame)
        if c.policy != _POLICY or c.destination not in self._services:
            self._bypass(port, frame)
            return
        self._data_in += 1
        c.port, c.block = port, (c.sequence - 1) % _SEQUENCES
        if self._place(c):
            self._step(c)

    def _bypass(self, port: int, frame: bytes) -> None:
        self._program.count("bypassed")
        self._program.forward(port, frame)

    def _place(self, c: RepairArrival) -> bool:
        """The slot of a packet; False, and an event, when it has none."""
        pool: RepairPool | None = self._served.get(c.job)
        if pool is None or not self._is_whole(pool, c):
            self._ignore(c.job, -1, -1, c.slot, "malformed")
            return False
        from_above = c.kind == _ACK_KIND
        c.pool, c.ranks, c.cell = pool, 0 if from_above else pool.below_port(c.port), c.slot - pool.first_slot
        if from_above != (c.port == pool.up) or (not from_above and (not c.ranks or c.bitmap != c.ranks)):
            self._ignore(pool.job, -1, c.block, c.slot, "wrong_port")
        elif c.cell < 0 or c.cell >= pool.slots:
            self._ignore(pool.job, -1, c.block, c.slot, "bad_slot")
        else:
            return True
        return False

    def _is_whole(self, pool: RepairPool, c: RepairArrival) -> bool:
        """Whether a packet of its kind can have these fields."""
        if c.fan_in != pool.size - 1 or c.count > pool.elements:
            return False
        if c.kind == _DATA:
            return c.count > 0 and c.op in (_OP_XOR, _OP_GF256)
        return c.kind in (_ACK_KIND, _REMINDER) and not c.count

    def _step(self, c: RepairArrival) -> None:
        pool = c.pool
        assert pool is not None
        event = self.slot_event(c)
        before = pool.state[c.cell]
        step = before * _CAUSES + event
        after, action = self._after[step], self._actions[step]
        if self._traced:
            names = words(_STATES[before], _EVENTS[event], _STATES[after])
            self.events.append(SlotChanged(pool.job, c.slot, 0, c.block, self.rank_of(c), *names))
        if action > _SPREAD:
            self._ignore(pool.job, self.rank_of(c), c.block, c.slot, DROP_REASONS[_ACTIONS[action]])
            return
        if action == _STORE:
            self.store(c)
        elif action == _STORE_AND_SEND:
            self.store_and_send(c)
        elif action == _SEND_AGAIN:
            self.send_again(c)
        elif action == _ASK:
            self.ask(c)
        elif action == _ANSWER:
            self.answer(c)
        else:
            self.spread(c)
        pool.state[c.cell] = after
        # In use: filling, or sent.
        pool.occupy((_FREE < after < _DONE) - (_FREE < before < _DONE), self._now)

    def rank_of(self, c: RepairArrival) -> int:
        """The lowest in it; -1: it is the newcomer's."""
        rank = 0 if c.ranks else -1
        while rank >= 0 and not c.ranks >> rank & 1:
            rank += 1
        return rank

    def slot_event(self, c: RepairArrival) -> int:
        """What the packet is to its slot, a `RepairSlotEvent` by number; the state is looked at only for what the
        table cannot know."""
        pool, cell = c.pool, c.cell
        assert pool is not None
        state = pool.state[cell]
        is_newer = state == _FREE or self.is_newer(c.block, pool.block[cell])
        is_same = state != _FREE and c.block == pool.block[cell]
        if not c.ranks:
            return _ACK if is_same else _ACK_OTHER
        if not is_newer and not is_same:
            return _STALE
        if c.kind == _REMINDER:
            return _QUESTION_NEWER if is_newer else _QUESTION
        if is_newer:
            if state == _FILLING:
                return _OVERRUN
            return _COMPLETING if c.ranks == pool.everyone else _NEW
        if pool.length[cell] != c.count:
            return _MISMATCH
        if self.is_inside(c):
            return _REPEAT_FIRST if pool.is_first(c.ranks) else _REPEAT
        return _COMPLETING if pool.inside[cell] | c.ranks == pool.everyone else _NEW

    def is_inside(self, c: RepairArrival) -> bool:
        """Whether its contribution was added: twice would be not at all."""
        assert c.pool is not None
        return bool(c.pool.inside[c.cell] & c.ranks)

    def is_newer(self, block: int, than: int) -> bool:
        """Blocks are counted modulo 2^32."""
        return 0 < (block - than) % _SEQUENCES < _SEQUENCES // 2

    def store(self, c: RepairArrival) -> None:
        """Add it, times its coefficient; the first one of a block overwrites what was there."""
        pool, cell = c.pool, c.cell
        assert pool is not None
        at, size = pool.value_at(cell), 4 * c.count
        if self.is_first(c):
            pool.block[cell], pool.length[cell] = c.block, c.count
            pool.inside[cell], pool.opened[cell] = 0, self._now
            for place in range(cell * pool.size, (cell + 1) * pool.size):
                pool.entered[place] = 0
            pool.values[at : at + size] = 0
        elif pool.block[cell] != c.block:
            self.events.append(SlotMixed(pool.job, c.block, self.rank_of(c), c.slot, pool.job, pool.block[cell]))
        add_products(pool.values, at, c.frame, c.at, size, self._products[self.coefficient(c)])
        pool.touch(self._now)
        for rank in range(pool.size - 1):
            pool.entered[cell * pool.size + rank] += c.ranks >> rank & 1
        pool.inside[cell] |= c.ranks

    def coefficient(self, c: RepairArrival) -> int:
        """By which a packet is multiplied."""
        return c.exponent0 & 255 if c.op == _OP_GF256 else 1

    def is_first(self, c: RepairArrival) -> bool:
        """Whether its block opens the slot."""
        assert c.pool is not None
        return bool(c.pool.block[c.cell] != c.block)

    def store_and_send(self, c: RepairArrival) -> None:
        self.store(c)
        pool, cell = c.pool, c.cell
        assert pool is not None
        pool.useful_ns += self._now - pool.opened[cell]
        entered = pool.contributions(cell)
        if pool.tree.is_last:
            self.events.append(BlockSummed(pool.job, c.block, c.slot, entered))
        else:
            self.events.append(PartialSent(pool.job, c.block, c.slot, entered, pool.everyone, "complete"))
        self.send_sum(c)

    def send_again(self, c: RepairArrival) -> None:
        pool = c.pool
        assert pool is not None
        if pool.tree.is_last:
            self.events.append(BlockReplayed(pool.job, pool.size - 1, c.block, c.slot))
        else:
            entered = pool.contributions(c.cell)
            self.events.append(PartialSent(pool.job, c.block, c.slot, entered, pool.everyone, "repeated"))
        self.send_sum(c)

    def send_sum(self, c: RepairArrival) -> None:
        """The slot's sum, towards the newcomer; nothing is left to multiply."""
        assert c.pool is not None
        kind = _RESULT if c.pool.tree.is_last else _DATA
        self.send_up(c, kind, c.pool.length[c.cell], _OP_XOR, 0)
        self._sums_out += 1

    def ask(self, c: RepairArrival) -> None:
        """Whether the newcomer has the block: what is missing here may then never come."""
        self.send_up(c, _REMINDER, 0, 0, 0)
        self._questions_out += 1

    def answer(self, c: RepairArrival) -> None:
        self._send_down(c, c.port, c.ranks)

    def spread(self, c: RepairArrival) -> None:
        assert c.pool is not None
        for child in c.pool.tree.children:
            self._send_down(c, child.port, child.ranks)

    def send_up(self, c: RepairArrival, kind: int, count: int, op: int, coefficient: int) -> None:
        """A frame about the packet's block, with so many elements of its slot."""
        pool = c.pool
        assert pool is not None
        size = AT_PAYLOAD + 4 * count
        draft = new_draft(size)
        copy_bytes(draft, 0, pool.head_up, 0, AT_VERSION)
        copy_bytes(draft, AT_VERSION, c.frame, AT_VERSION, AT_PAYLOAD - AT_VERSION)
        put8(draft, AT_KIND, kind)
        put32(draft, AT_BITMAP0, pool.everyone)
        put8(draft, AT_OP, op)
        put8(draft, AT_EXPONENT0, coefficient)
        put16(draft, AT_NELEM, count)
        write_bytes(draft, AT_PAYLOAD, pool.values, pool.value_at(c.cell), 4 * count)
        seal(draft, size)
        self.outbox.append((pool.up, finished(draft)))

    def _send_down(self, c: RepairArrival, port: int, ranks: int) -> None:
        """An acknowledgement of the packet's block."""
        assert c.pool is not None
        self.outbox.append((port, acknowledgement_of(c, c.pool.heads[port], ranks, c.flags)))
        self._acks_out += 1

    def _ignore(self, job: int, rank: int, block: int, slot: int, reason: str) -> None:
        self._program.count(reason)
        self.events.append(ContributionIgnored(job, rank, block, slot, reason))
