"""The switch program of repair jobs (docs/repair.md). It multiplies and adds the packets of the donors below it, and
sends the sum up once it has all of them. It spreads the newcomer's acknowledgements.

Switches form a tree whose root is the newcomer. None has a timer: donors send again until they are acknowledged, and
what they send again makes each switch do what is missing. What a packet leads to is decided by `tables`; here are the
events and the actions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from switch_nodes.config import SwitchConfig
from switch_nodes.jobs import JobMember, TreeChild
from switch_nodes.repair.pool import RepairPool, check_jobs
from switch_nodes.repair.tables import DROP_REASONS, SLOT_TABLE, RepairSlotAction, RepairSlotEvent, RepairSlotState
from switch_nodes.serving import ServingProgram
from workloads.automaton import words
from workloads.codes.gf256 import PRODUCTS
from workloads.datagrams.blocks import (
    BlockReplayed,
    BlockSummed,
    ContributionIgnored,
    MemoryAtEnd,
    PartialSent,
    SlotChanged,
    SlotMixed,
)
from workloads.machine import Buffer
from workloads.repair.packets import OP_GF256, OP_XOR, block_of, coefficient_of, reply
from workloads.wire import Envelope
from workloads.wire.aggregation import (
    AGGREGATION_PORT,
    SEQUENCES,
    AggregationHeader,
    Datagram,
    DatagramError,
    DatagramKind,
    Policy,
    decode_datagram,
    encode_datagram,
)

__all__ = ["Arrived", "RepairProgram"]

_FRAME_REASONS = ("checksum", "malformed", "wrong_port", "bad_slot")
_COUNTERS = ("data_in", "sums_out", "questions_out", "acks_out", "bypassed")
_IN_USE = (RepairSlotState.FILLING, RepairSlotState.SENT)


class Arrived(NamedTuple):
    """A packet and its place."""

    pool: RepairPool
    child: TreeChild | None
    """child from which it came; None: from above"""
    cell: int
    """index within the job's part of the memory"""
    datagram: Datagram

    @property
    def block(self) -> int:
        return block_of(self.datagram.header)

    @property
    def rank(self) -> int:
        """The lowest in it; -1: it is the newcomer's"""
        return -1 if self.child is None else (self.child.ranks & -self.child.ranks).bit_length() - 1


class RepairProgram(ServingProgram[RepairPool]):
    """Serves `SwitchConfig.jobs`. Everything that is not for them passes as through a plain switch."""

    counter_names = (*ServingProgram.counter_names, *_COUNTERS, *_FRAME_REASONS, *DROP_REASONS.values())

    def __init__(self, config: SwitchConfig) -> None:
        """Raises ScenarioError for jobs that cannot be served."""
        super().__init__(config)
        check_jobs(config)
        self._traced = config.trace
        self._services = {job.service_ip for job in config.jobs}
        self.served = {job.job: RepairPool(job) for job in config.jobs}
        self._now = 0
        self._handlers = self.handlers()

    def handlers(self) -> dict[RepairSlotAction, Callable[[Arrived], None]]:
        """What is done for each action of the table that does not drop the packet."""
        return {
            RepairSlotAction.STORE: self.store,
            RepairSlotAction.STORE_AND_SEND: self.store_and_send,
            RepairSlotAction.SEND_AGAIN: self.send_again,
            RepairSlotAction.ASK: self.ask,
            RepairSlotAction.ANSWER: self.answer,
            RepairSlotAction.SPREAD: self.spread,
        }

    def receive_frame(self, port: int, frame: Buffer, now: int) -> None:
        self._now = now
        try:
            found = decode_datagram(frame)
        except DatagramError as error:
            self._ignore(-1, -1, -1, -1, error.reason)
            return
        if found is None or found.dst_ip not in self._services or found.header.policy != Policy.REPAIR:
            self.count("bypassed")
            self.forward(port, frame)
            return
        self.count("data_in")
        arrived = self._place(port, found)
        if arrived is not None:
            self._step(arrived)

    def _place(self, port: int, found: Datagram) -> Arrived | None:
        """The slot of a packet; None, and an event, when it has none."""
        header = found.header
        pool = self.served.get(header.job)
        if pool is None or not self._is_whole(pool, header):
            self._ignore(header.job, -1, -1, header.slot, "malformed")
            return None
        block, index, tree = block_of(header), header.slot - pool.config.first_slot, pool.tree
        child = pool.by_port.get(port)
        from_above = header.kind == DatagramKind.ACK
        if from_above != (port == tree.up) or (not from_above and (child is None or header.bitmap0 != child.ranks)):
            self._ignore(pool.job, -1, block, header.slot, "wrong_port")
        elif not 0 <= index < pool.slots:
            self._ignore(pool.job, -1, block, header.slot, "bad_slot")
        else:
            return Arrived(pool, None if from_above else child, index, found)
        return None

    def _is_whole(self, pool: RepairPool, header: AggregationHeader) -> bool:
        """What a packet of any kind says of itself can be."""
        if header.fan_in0 != pool.donors or header.nelem > pool.config.elements:
            return False
        if header.kind == DatagramKind.DATA:
            return header.nelem > 0 and header.op in (OP_XOR, OP_GF256)
        return header.kind in (DatagramKind.ACK, DatagramKind.REMINDER) and not header.nelem

    def _step(self, a: Arrived) -> None:
        event, before = self.slot_event(a), a.pool.state[a.cell]
        after, action = SLOT_TABLE[before, event]
        if self._traced:
            names = words(before, event, after)
            self.tell(SlotChanged(a.pool.job, a.datagram.header.slot, 0, a.block, a.rank, *names))
        if action in DROP_REASONS:
            self._ignore(a.pool.job, a.rank, a.block, a.datagram.header.slot, DROP_REASONS[action])
            return
        self._handlers[action](a)
        a.pool.state[a.cell] = after
        a.pool.occupy((after in _IN_USE) - (before in _IN_USE), self._now)

    def slot_event(self, a: Arrived) -> RepairSlotEvent:
        """What the packet is to its slot; the state is looked at only for what the table cannot know."""
        pool, index, header = a.pool, a.cell, a.datagram.header
        empty = pool.state[index] is RepairSlotState.FREE
        newer = empty or self.is_newer(a.block, pool.block[index])
        same = not empty and a.block == pool.block[index]
        if a.child is None:
            return RepairSlotEvent.ACK if same else RepairSlotEvent.ACK_OTHER
        if not newer and not same:
            return RepairSlotEvent.STALE
        if header.kind == DatagramKind.REMINDER:
            return RepairSlotEvent.QUESTION_NEWER if newer else RepairSlotEvent.QUESTION
        if newer:
            if pool.state[index] is RepairSlotState.FILLING:
                return RepairSlotEvent.OVERRUN
            return RepairSlotEvent.COMPLETING if a.child.ranks == pool.everyone else RepairSlotEvent.NEW
        if pool.length[index] != header.nelem:
            return RepairSlotEvent.MISMATCH
        if self.is_inside(a):
            return RepairSlotEvent.REPEAT_FIRST if pool.is_first(a.child) else RepairSlotEvent.REPEAT
        return (
            RepairSlotEvent.COMPLETING if pool.inside[index] | a.child.ranks == pool.everyone else RepairSlotEvent.NEW
        )

    def is_inside(self, a: Arrived) -> bool:
        """Whether its contribution was added: twice would be not at all."""
        return bool(a.child is not None and a.pool.inside[a.cell] & a.child.ranks)

    def is_newer(self, block: int, than: int) -> bool:
        """Blocks are counted modulo 2^32."""
        return (block - than) % SEQUENCES in range(1, SEQUENCES // 2)

    def store(self, a: Arrived) -> None:
        """Add it, times its coefficient; the first one of a block overwrites what was there."""
        pool, index, header = a.pool, a.cell, a.datagram.header
        assert a.child is not None, "acknowledgements bring nothing"
        data = np.frombuffer(a.datagram.payload, np.uint8)
        scaled = PRODUCTS[self.coefficient(header)][data]
        value = pool.values[index, : len(data)]
        if self.is_first(a):
            pool.block[index], pool.length[index] = a.block, header.nelem
            pool.inside[index], pool.entered[index], pool.opened[index] = 0, [0] * pool.size, self._now
            value[:] = scaled
        else:
            if pool.block[index] != a.block:
                self.tell(SlotMixed(pool.job, a.block, a.rank, header.slot, pool.job, pool.block[index]))
            np.bitwise_xor(value, scaled, out=value)
        pool.touch(self._now)
        for rank in range(pool.donors):
            pool.entered[index][rank] += header.bitmap0 >> rank & 1
        pool.inside[index] |= a.child.ranks

    def coefficient(self, header: AggregationHeader) -> int:
        """By which a packet is multiplied."""
        return coefficient_of(header)

    def is_first(self, a: Arrived) -> bool:
        """Whether its block opens the slot."""
        return a.pool.block[a.cell] != a.block

    def store_and_send(self, a: Arrived) -> None:
        self.store(a)
        pool, index = a.pool, a.cell
        pool.useful_ns += self._now - pool.opened[index]
        entered, slot = tuple(pool.entered[index]), a.datagram.header.slot
        if pool.tree.is_last:
            self.tell(BlockSummed(pool.job, a.block, slot, entered))
        else:
            self.tell(PartialSent(pool.job, a.block, slot, entered, pool.everyone, "complete"))
        self.send_sum(a)

    def send_again(self, a: Arrived) -> None:
        pool, slot = a.pool, a.datagram.header.slot
        if pool.tree.is_last:
            self.tell(BlockReplayed(pool.job, pool.donors, a.block, slot))
        else:
            entered = tuple(pool.entered[a.cell])
            self.tell(PartialSent(pool.job, a.block, slot, entered, pool.everyone, "repeated"))
        self.send_sum(a)

    def send_sum(self, a: Arrived) -> None:
        """The slot's sum, towards the newcomer; nothing is left to multiply."""
        pool, index = a.pool, a.cell
        payload = pool.values[index, : 4 * pool.length[index]].tobytes()
        kind = DatagramKind.RESULT if pool.tree.is_last else DatagramKind.DATA
        header = a.datagram.header._replace(
            kind=kind, bitmap0=pool.everyone, nelem=pool.length[index], op=OP_XOR, exponent0=0
        )
        self._send_up(pool, header, payload)
        self.count("sums_out")

    def ask(self, a: Arrived) -> None:
        """Whether the newcomer has the block: what is missing here may then never come."""
        self._send_up(a.pool, reply(a.datagram.header, DatagramKind.REMINDER, a.pool.everyone), b"")
        self.count("questions_out")

    def answer(self, a: Arrived) -> None:
        assert a.child is not None, "the newcomer asks nothing"
        self._send_down(a, a.child)

    def spread(self, a: Arrived) -> None:
        for child in a.pool.tree.children:
            self._send_down(a, child)

    def _send_up(self, pool: RepairPool, header: AggregationHeader, payload: bytes) -> None:
        config = pool.config
        newcomer = config.members[pool.donors]
        to_mac, to_ip = (newcomer.mac, newcomer.ip) if pool.tree.is_last else (config.service_mac, config.service_ip)
        envelope = Envelope(config.service_mac, to_mac, config.service_ip, to_ip, AGGREGATION_PORT)
        self.emit(pool.tree.up, encode_datagram(envelope, AGGREGATION_PORT, header, payload))

    def _send_down(self, a: Arrived, child: TreeChild) -> None:
        """An acknowledgement of the packet's block."""
        config = a.pool.config
        host: JobMember | None = config.members[child.host] if child.host >= 0 else None
        to_mac, to_ip = (config.service_mac, config.service_ip) if host is None else (host.mac, host.ip)
        envelope = Envelope(config.service_mac, to_mac, config.service_ip, to_ip, AGGREGATION_PORT)
        header = reply(a.datagram.header, DatagramKind.ACK, child.ranks)
        self.emit(child.port, encode_datagram(envelope, AGGREGATION_PORT, header, b""))
        self.count("acks_out")

    def tell_end(self, pool: RepairPool) -> None:
        first, slots = pool.config.first_slot, pool.slots
        self.tell(MemoryAtEnd(pool.job, first, slots, pool.open_slots, slots, pool.peak, pool.busy_ns, pool.useful_ns))

    def _ignore(self, job: int, rank: int, block: int, slot: int, reason: str) -> None:
        self.count(reason)
        self.tell(ContributionIgnored(job, rank, block, slot, reason))
