"""The SwitchML switch program (Sapio et al., NSDI 2021; see `docs/switchml.md` for what is sourced and what is
decided).

Workers send blocks to slots of the switch's pool; it adds them, and when all are inside it sends the sum to all. Each
index has two versions: a worker uses one only when it has the result of the other, so that a sum is kept until nobody
can ask for it any more. What the switch does with a packet is decided by `tables`; here are the events and the actions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from switch_nodes.config import SwitchConfig
from switch_nodes.jobs import JobMember
from switch_nodes.serving import ServingProgram
from switch_nodes.switchml.framing import Taken, create_service
from switch_nodes.switchml.pool import VERSIONS, Pool, check_jobs
from switch_nodes.switchml.tables import DROP_REASONS, SLOT_TABLE, SlotAction, SlotEvent, SlotState
from workloads.automaton import words
from workloads.datagrams.blocks import (
    BlockReplayed,
    BlockSummed,
    ContributionIgnored,
    MemoryAtEnd,
    SlotChanged,
    SlotMixed,
)
from workloads.machine import Buffer
from workloads.switchml.framing import Arrival
from workloads.wire.aggregation import AggregationHeader, DatagramError, DatagramFlag, DatagramKind

__all__ = ["Contribution", "SwitchMlProgram"]

_KINDS = (DatagramKind.DATA, DatagramKind.EXPONENTS)
_SEQUENCES = 1 << 32
_FRAME_REASONS = ("checksum", "icrc", "malformed", "unknown_qp", "gap", "invalid", "wrong_port", "bad_slot")
_COUNTERS = ("data_in", "results_out", "replayed", "bypassed")


class Contribution(NamedTuple):
    """A packet and its place."""

    pool: Pool
    rank: int
    version: int
    cell: int
    """index within the job's part of the pool"""
    datagram: Arrival

    @property
    def block(self) -> int:
        return (self.datagram.header.sequence - 1) % _SEQUENCES


class SwitchMlProgram(ServingProgram[Pool]):
    """Serves `SwitchConfig.jobs`. Everything that is not for them passes as through a plain switch."""

    pool_class = Pool
    counter_names = (*ServingProgram.counter_names, *_COUNTERS, *_FRAME_REASONS, *DROP_REASONS.values())

    def __init__(self, config: SwitchConfig) -> None:
        """Raises ScenarioError for jobs that cannot be served."""
        super().__init__(config)
        check_jobs(config)
        self._traced = config.trace
        self.served = {job.job: self.pool_class(job) for job in config.jobs}
        self._framing = create_service(config.jobs)
        self._now = 0
        self._handlers = self.handlers()

    def receive_frame(self, port: int, frame: Buffer, now: int) -> None:
        self._now = now
        try:
            found = self._framing.receive(frame)
        except DatagramError as error:
            self._ignore(-1, -1, -1, -1, error.reason)
            return
        if found is Taken.NOT_OURS:
            self.count("bypassed")
            self.forward(port, frame)
            return
        if found is Taken.UNFINISHED:
            return
        self.count("data_in")
        contribution = self._place(port, found)
        if contribution is not None:
            self._aggregate(contribution)

    def _place(self, port: int, found: Arrival) -> Contribution | None:
        """The slot of a packet; None, and told, when it has none."""
        header = found.header
        pool = self.served.get(header.job)
        member = pool.by_ip.get(found.src_ip) if pool is not None else None
        if pool is None or member is None or header.kind not in _KINDS:
            self._ignore(header.job, -1, -1, header.slot, "malformed")
            return None
        block, index = (header.sequence - 1) % _SEQUENCES, header.slot - pool.config.first_slot
        if member.port != port:
            self._ignore(pool.job, member.rank, block, header.slot, "wrong_port")
        elif not 0 <= index < pool.slots:
            self._ignore(pool.job, member.rank, block, header.slot, "bad_slot")
        elif (
            header.bitmap0 != 1 << member.rank
            or header.fan_in0 != pool.size
            or header.nelem > pool.config.elements
            or header.op
        ):
            self._ignore(pool.job, member.rank, block, header.slot, "malformed")
        else:
            return Contribution(pool, member.rank, self.version_of(header), index, found)
        return None

    def version_of(self, header: AggregationHeader) -> int:
        return 1 if header.flags & DatagramFlag.VERSION else 0

    def _aggregate(self, c: Contribution) -> None:
        event = self.slot_event(c)
        before = c.pool.state(c.version, c.cell)
        after, action = SLOT_TABLE[before, event]
        if self._traced:
            self._tell_step(c, c.version, before, event, after)
        if action in DROP_REASONS:
            self._ignore(c.pool.job, c.rank, c.block, c.datagram.header.slot, DROP_REASONS[action])
            return
        c.pool.newest[c.rank][c.cell] = c.block
        self.move_on(c)
        if before is SlotState.FREE:
            c.pool.occupy(1, self._now)
        self._handlers[action](c)

    def handlers(self) -> dict[SlotAction, Callable[[Contribution], None]]:
        """What is done for each action of the table that neither drops the packet nor is FORGET (`move_on`)."""
        return {
            SlotAction.STORE: self.store,
            SlotAction.STORE_AND_ANSWER: self.store_and_answer,
            SlotAction.REPLAY: self.replay,
        }

    def slot_event(self, c: Contribution) -> SlotEvent:
        """What the packet is to its slot; the state is looked at only for what the table cannot know."""
        pool, version, index = c.pool, c.version, c.cell
        if self.is_older(c.block, pool.newest[c.rank][index]):
            return SlotEvent.STALE
        seen = pool.seen[version][index]
        if seen and (pool.block[version][index], pool.length[version][index]) != (c.block, c.datagram.header.nelem):
            return SlotEvent.MISMATCH
        if seen >> c.rank & 1:
            return SlotEvent.REPEAT
        if pool.state(1 - version, index) is SlotState.FILLING:
            return SlotEvent.OVERRUN
        return SlotEvent.COMPLETING if seen | 1 << c.rank == pool.everyone else SlotEvent.NEW

    def is_older(self, block: int, newest: int) -> bool:
        """Blocks are counted modulo 2^32."""
        return newest >= 0 and (newest - block) % _SEQUENCES in range(1, _SEQUENCES // 2)

    def move_on(self, c: Contribution) -> None:
        """Its worker contributes here, so it has the result of the other version."""
        pool, other, index = c.pool, 1 - c.version, c.cell
        seen = pool.seen[other][index]
        if not seen >> c.rank & 1:
            return
        last = seen == 1 << c.rank
        event = SlotEvent.LAST_MOVED_ON if last else SlotEvent.MOVED_ON
        before = pool.state(other, index)
        after, _ = SLOT_TABLE[before, event]
        if self._traced:
            self._tell_step(c, other, before, event, after)
        pool.seen[other][index] = seen & ~(1 << c.rank)
        if last:
            pool.occupy(-1, self._now)

    def store(self, c: Contribution) -> None:
        """Add it; the first one overwrites what was there."""
        pool, version, index = c.pool, c.version, c.cell
        header = c.datagram.header
        entered, exponents = pool.entered[version][index], (header.exponent0, header.exponent1)
        elements = np.frombuffer(c.datagram.payload, ">i4")
        value = pool.values[version, index, : header.nelem]
        if self.is_first(c):
            pool.block[version][index], pool.length[version][index] = c.block, header.nelem
            pool.inside[version][index], pool.opened[version][index] = 0, self._now
            entered[:] = [0] * pool.size
            pool.exponents[version][index] = exponents
            value[:] = elements
        else:
            if pool.block[version][index] != c.block:
                owner = pool.job, pool.block[version][index]
                self.tell(SlotMixed(pool.job, c.block, c.rank, header.slot, *owner))
            first, second = pool.exponents[version][index]
            pool.exponents[version][index] = max(first, exponents[0]), max(second, exponents[1])
            np.add(value, elements, out=value, casting="unsafe")  # wraps
        pool.touch(self._now)
        entered[c.rank] += 1
        pool.inside[version][index] += 1
        pool.seen[version][index] |= 1 << c.rank

    def is_first(self, c: Contribution) -> bool:
        """Decided by the bitmap: the counter of a complete sum says nothing about who still needs it."""
        return not c.pool.seen[c.version][c.cell]

    def store_and_answer(self, c: Contribution) -> None:
        self.store(c)
        entered = tuple(c.pool.entered[c.version][c.cell])
        c.pool.useful_ns += self._now - c.pool.opened[c.version][c.cell]
        self.tell(BlockSummed(c.pool.job, c.block, c.datagram.header.slot, entered))
        self.send_result(c, c.pool.config.members)

    def replay(self, c: Contribution) -> None:
        self.count("replayed")
        self.tell(BlockReplayed(c.pool.job, c.rank, c.block, c.datagram.header.slot))
        self.send_result(c, (c.pool.config.members[c.rank],))

    def send_result(self, c: Contribution, members: tuple[JobMember, ...]) -> None:
        """The slot's sum to each of `members`."""
        pool, version, index, asked = c.pool, c.version, c.cell, c.datagram.header
        config, length = pool.config, pool.length[version][index]
        payload = pool.values[version, index, :length].astype(">i4").tobytes()
        exponent0, exponent1 = pool.exponents[version][index]
        header = asked._replace(
            kind=DatagramKind.RESULT, bitmap0=pool.everyone, nelem=length, exponent0=exponent0, exponent1=exponent1
        )
        for port, frame in self._framing.results(config, members, header, payload):
            self.emit(port, frame)
        self.count("results_out", len(members))

    def tell_end(self, pool: Pool) -> None:
        first, values = pool.config.first_slot, VERSIONS * pool.slots
        self.tell(
            MemoryAtEnd(pool.job, first, pool.slots, pool.open_slots, values, pool.peak, pool.busy_ns, pool.useful_ns)
        )

    def _ignore(self, job: int, rank: int, block: int, slot: int, reason: str) -> None:
        self.count(reason)
        self.tell(ContributionIgnored(job, rank, block, slot, reason))

    def _tell_step(self, c: Contribution, version: int, state: SlotState, event: SlotEvent, after: SlotState) -> None:
        names = words(state, event, after)
        self.tell(SlotChanged(c.pool.job, c.datagram.header.slot, version, c.block, c.rank, *names))
