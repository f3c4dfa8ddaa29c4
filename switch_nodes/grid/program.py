"""Program `grid`: one switch of a plan of gradient routes (Fang et al., IEEE/ACM ToN 31(5), 2023, section 5;
`docs/routing.md`).

It adds the packets that are addressed to its own aggregator, and sends each sum to the parameter server; it forwards
all other datagrams by the routes of the plan, and everything else as a plain switch. What it adds is bounded by a token
bucket; blocks for which there are no tokens go around, all of their packets. What becomes of a packet in its slot is
decided by `tables`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from switch_nodes.config import SwitchConfig
from switch_nodes.events import LoadSampled, PlanInstalled
from switch_nodes.forwarding import ForwardProgram
from switch_nodes.grid.bucket import TokenBucket
from switch_nodes.grid.checks import check_grid
from switch_nodes.grid.layout import GridOrders
from switch_nodes.grid.memory import GridSlot, Refused, slot_index
from switch_nodes.grid.packets import Arrival, from_slot, onward, rate_packet
from switch_nodes.grid.routes import RouteTable
from switch_nodes.grid.tables import DROP_REASONS, SlotAction, SlotEvent, SlotState, slot_table
from switch_nodes.grid.tally import Tally
from workloads.automaton import UNFORESEEN, words
from workloads.datagrams.blocks import Collided, ContributionIgnored, MemoryAtEnd, PartialSent, SlotChanged, SlotMixed
from workloads.grid.node_shares import ShareTable
from workloads.machine import Buffer
from workloads.wire.aggregation import (
    AGGREGATION_PORT,
    Datagram,
    DatagramError,
    DatagramFlag,
    DatagramKind,
    Policy,
    decode_datagram,
)
from workloads.wire.ecn import is_ce

__all__ = ["GridProgram"]

_HEADERS = 54
"""bytes up to the end of the sequence number"""
_KIND_AT, _JOB_AT, _SEQUENCE_AT = 43, 46, 50
_SUMMED = (DatagramKind.DATA, DatagramKind.EXPONENTS)
_RESEND, _ECN, _COLLISION = int(DatagramFlag.RESEND), int(DatagramFlag.ECN), int(DatagramFlag.COLLISION)
_COUNTERS = (
    "data_in", "summed", "flushed", "forgotten", "bypassed", "refused", "passed", "turned_away", "collided",
    "reclaimed", "freed",
    "ghosts_at_end", "routed", "unrouted", "checksum", "malformed",
)  # fmt: skip


class GridProgram(ForwardProgram):
    """Serves one job. Counters: data_in (packets for its aggregator), summed (complete sums that left), bypassed
    (packets that went around), refused (blocks without tokens), added_R (packets of rank R that were added) and those
    of the table's actions."""

    counter_names = (*ForwardProgram.counter_names, *_COUNTERS, *DROP_REASONS.values())

    def __init__(self, config: SwitchConfig) -> None:
        """Raises ScenarioError for what cannot be served."""
        check_grid(config)
        super().__init__(config)
        assert config.grid is not None, "checked"
        self.grid, (self.job,) = config.grid, config.jobs
        self._op = 1 if self.job.arithmetic.dtype == "int32sat" else 0
        self._ranks = {member.ip: member.rank for member in self.job.members}
        self.slots: list[GridSlot | None] = [None] * config.memory
        self._refused = Refused()
        self.bucket = TokenBucket(self.grid.capacity_bps, self.grid.depth_ns)
        self._table = slot_table(self.grid.on_collision)
        self._handlers = self.handlers()
        self._in, self._out = [0] * config.ports, [0] * config.ports
        self._added_bytes = 0
        self._tally = Tally()
        self._now = 0
        self._to_come = deque(self.grid.orders)
        self._next_sample = self.grid.sample_ns or None
        self._obey(self._to_come.popleft())

    def receive_frame(self, port: int, frame: Buffer, now: int) -> None:
        self._now = now
        self._in[port] += len(frame)
        ports = self._routes.find(frame)
        if ports is None and bytes(frame[30:34]) != self.grid.ip:
            self._forward_plainly(port, frame)
            return
        if ports is not None:
            if bytes(frame[30:34]) == self.grid.group_ip:
                self._hear_result(frame)
            self._leave_by(ports, bytes(frame))
            return
        try:
            found = decode_datagram(frame)
        except DatagramError as error:
            self._ignore(-1, -1, error.reason)
            return
        arrival = None if found is None else self._admit(port, frame, found)
        if arrival is not None:
            self._tally.arrive(arrival.block, arrival.found.header.bitmap0, now)
            self.count("data_in")
            self._step(arrival, self._judge(arrival))

    def get_timer(self) -> int | None:
        due = [] if self._next_sample is None else [self._next_sample]
        if self._to_come:
            due.append(self._to_come[0].at_ns)
        return min(due, default=None)

    def handle_timer(self, now: int) -> None:
        self._now = now
        while self._to_come and self._to_come[0].at_ns <= now:
            self._forget()
            self._obey(self._to_come.popleft())
        if self._next_sample is not None and self._next_sample <= now:
            self._sample()
            self._next_sample += -(-(now + 1 - self._next_sample) // self.grid.sample_ns) * self.grid.sample_ns

    def emit(self, port: int, frame: Buffer) -> None:
        self._out[port] += len(frame)
        super().emit(port, frame)

    @property
    def slots_in_use(self) -> int:
        return self._tally.occupied

    def finish(self, now: int) -> None:
        self._now = now
        if self._next_sample is not None:
            self._sample()
        held = [slot for slot in self.slots if slot is not None]
        ghosts = sum(self._tally.is_ghost(slot.block, slot.bitmap) for slot in held)
        self.count("ghosts_at_end", ghosts)
        size, tally = len(self.slots), self._tally
        left = len(held) - ghosts
        self.tell(MemoryAtEnd(self.job.job, 0, size, left, size, tally.peak, tally.busy_ns, tally.useful_ns))
        super().finish(now)

    def _obey(self, orders: GridOrders) -> None:
        self._routes, self._shares = RouteTable(orders.routes), ShareTable(orders.shares)
        self.tell(PlanInstalled(orders.planner, len(orders.routes), orders.rate_bps))

    def _forward_plainly(self, port: int, frame: Buffer) -> None:
        """Datagrams of GRID go where the plan sends them, or nowhere."""
        if len(frame) >= _HEADERS and frame[12:14] == b"\x08\x00" and frame[23] == 17:
            ours = int.from_bytes(frame[36:38], "big") == AGGREGATION_PORT and frame[42] & 15 == Policy.GRID
            if ours:
                self.count("unrouted")
                return
        self.forward(port, frame)

    def _leave_by(self, ports: tuple[int, ...], frame: bytes) -> None:
        self.count("routed")
        for port in ports:
            self.emit(port, frame)

    def _hear_result(self, frame: Buffer) -> None:
        """A sum that everybody gets: what late copies have left of its block is of no use."""
        if len(frame) < _HEADERS or frame[_KIND_AT] != DatagramKind.RESULT:
            return
        job = int.from_bytes(frame[_JOB_AT : _JOB_AT + 2], "big")
        sequence = int.from_bytes(frame[_SEQUENCE_AT : _SEQUENCE_AT + 4], "big")
        self._refused.forget((job, sequence))
        if job == self.job.job:
            self._tally.deliver((sequence - 1) & 0xFFFFFFFF)
        index = slot_index(job, sequence, len(self.slots))
        slot = self.slots[index]
        own = slot is not None and slot.owner == (job, sequence)
        event = SlotEvent.RESULT_OWN if own else SlotEvent.RESULT_OTHER
        if self._act(job, (sequence - 1) & 0xFFFFFFFF, -1, index, event) is SlotAction.FREE:
            self.count("freed")
            self._free(index)

    def _admit(self, port: int, frame: Buffer, found: Datagram) -> Arrival | None:
        header, config = found.header, self.job
        rank = self._ranks.get(found.src_ip, -1)
        block = (header.sequence - 1) & 0xFFFFFFFF
        if (
            (header.policy, header.job, header.op) != (Policy.GRID, config.job, self._op)
            or header.kind not in _SUMMED
            or rank < 0
            or header.bitmap0 != 1 << rank
            or header.nelem > config.elements
        ):
            self._ignore(rank, block, "malformed")
            return None
        expected = self._shares.expected(self.grid.node, block)
        return Arrival(config, rank, expected, port, frame, found, is_ce(frame) or bool(header.flags & _ECN))

    def _judge(self, a: Arrival) -> SlotEvent:
        """An empty slot is opened only for tokens, which are taken here."""
        header, index = a.found.header, self._index(a)
        slot = self.slots[index]
        own = slot is not None and slot.owner == a.key
        if slot is not None and own and (slot.header.nelem, slot.header.tensor) != (header.nelem, header.tensor):
            return SlotEvent.MISMATCH
        if header.flags & _RESEND:
            return SlotEvent.RESEND_OWN if own else SlotEvent.RESEND_OTHER
        if not a.expected >> a.rank & 1 or a.key in self._refused:
            return SlotEvent.REFUSED
        if slot is None:
            if not self.bucket.take(a.expected.bit_count() * len(a.frame), self._now):
                self.count("refused")
                self._refused.add(a.key)
                return SlotEvent.REFUSED
            return SlotEvent.COMPLETING if header.bitmap0 == a.expected else SlotEvent.NEW
        if own:
            if slot.bitmap & header.bitmap0:
                return SlotEvent.REPEAT
            return SlotEvent.COMPLETING if slot.bitmap | header.bitmap0 == a.expected else SlotEvent.NEW
        ahead = (header.sequence - slot.header.sequence) & 0xFFFFFFFF
        return SlotEvent.SUCCESSOR if self.job.window <= ahead < 1 << 31 else SlotEvent.OTHER

    def _step(self, a: Arrival, event: SlotEvent) -> None:
        index = self._index(a)
        self._handlers[self._act(a.job.job, a.block, a.rank, index, event)](a, index)

    def handlers(self) -> dict[SlotAction, Callable[[Arrival, int], None]]:
        """What is done for each action of the table that a contribution can bring about."""
        return {
            SlotAction.ADD: self.add,
            SlotAction.SEND_SUM: self.send_sum,
            SlotAction.DROP_DUPLICATE: self.drop_duplicate,
            SlotAction.DROP_MISMATCH: self.drop_mismatch,
            SlotAction.UNFORESEEN: self.drop_unforeseen,
            SlotAction.RECLAIM: self.reclaim,
            SlotAction.TURN_AWAY: self.turn_away,
            SlotAction.COLLIDE: self.collide,
            SlotAction.BYPASS: self.bypass,
            SlotAction.FLUSH: self.flush,
            SlotAction.PASS: self.pass_on,
        }

    def _act(self, job: int, block: int, rank: int, index: int, event: SlotEvent) -> SlotAction:
        before = SlotState.EMPTY if self.slots[index] is None else SlotState.FILLING
        after, action = self._table[before, event]
        if self.config.trace:
            names = words(before, event, after)
            self.tell(SlotChanged(job, index, 0, block, rank, *names))
        return action

    # What the table asks for: (packet, index of its slot).

    def add(self, a: Arrival, index: int) -> None:
        slot = self.slots[index]
        if slot is None:
            slot = self.slots[index] = GridSlot(a.found, len(self._ranks), self._now)
            self._tally.occupy(1, self._now)
        if slot.owner != a.key:
            self.tell(SlotMixed(self.job.job, a.block, a.rank, index, self.job.job, slot.block))
        slot.add(a.found, a.rank, congested=a.congested)
        self._added_bytes += len(a.frame)
        self.count(f"added_{a.rank}")

    def send_sum(self, a: Arrival, index: int) -> None:
        self.add(a, index)
        slot = self.slots[index]
        assert slot is not None, "something was added to it"
        self.count("summed")
        self._tally.useful_ns += self._now - slot.opened
        self._send_slot(index, slot, "complete", 0)

    def flush(self, a: Arrival, index: int) -> None:
        """A worker misses the sum: all that is here of the block goes to the server, with what the worker brought;
        later packets of it go around."""
        slot = self.slots[index]
        assert slot is not None, "the table asks for this action only of an occupied slot"
        if not slot.bitmap & a.found.header.bitmap0:
            self.add(a, index)
        bitmap = slot.bitmap
        self.count("flushed")
        self._send_slot(index, slot, "flushed", _RESEND)
        self._go_around(a, bitmap)

    def pass_on(self, a: Arrival, index: int) -> None:
        self.count("passed")
        self._go_around(a, a.found.header.bitmap0)
        self._route_own(onward(a, self.grid, _ECN if a.congested else 0))

    def bypass(self, a: Arrival, index: int) -> None:
        self.count("bypassed")
        self._tally.leave(a.block, a.found.header.bitmap0)
        self._refused.pass_by(a.key, a.found.header.bitmap0, a.expected)
        self._route_own(onward(a, self.grid, _ECN if a.congested else 0))

    def collide(self, a: Arrival, index: int) -> None:
        slot = self.slots[index]
        assert slot is not None, "it serves another block"
        self.count("collided")
        self.tell(Collided(a.job.job, a.block, a.rank, index, slot.header.job, slot.block))
        self._go_around(a, a.found.header.bitmap0)
        self._route_own(onward(a, self.grid, _COLLISION))

    def turn_away(self, a: Arrival, index: int) -> None:
        self.count("turned_away")
        self._ignore(a.rank, a.block, DROP_REASONS[SlotAction.TURN_AWAY], index)
        self._route_own(rate_packet(a, self.grid))

    def reclaim(self, a: Arrival, index: int) -> None:
        self.count("reclaimed")
        self._free(index)
        self._step(a, self._judge(a))

    def drop_duplicate(self, a: Arrival, index: int) -> None:
        self._ignore(a.rank, a.block, "duplicate", index)

    def drop_mismatch(self, a: Arrival, index: int) -> None:
        self._ignore(a.rank, a.block, "mismatch", index)

    def drop_unforeseen(self, a: Arrival, index: int) -> None:
        self._ignore(a.rank, a.block, UNFORESEEN, index)

    def _go_around(self, a: Arrival, bitmap: int) -> None:
        """The rest of the block does not stop here: what it would wait for is with the server."""
        self._tally.leave(a.block, bitmap)
        if bitmap != a.expected and a.key not in self._refused:
            self._refused.add(a.key)
        self._refused.pass_by(a.key, bitmap, a.expected)

    def _index(self, a: Arrival) -> int:
        return slot_index(*a.key, len(self.slots))

    def _forget(self) -> None:
        """Under another plan other workers meet here: all of them send again what was not complete."""
        for index, slot in enumerate(self.slots):
            if slot is not None:
                self.count("forgotten")
                self._tally.leave(slot.block, slot.bitmap)
                self._free(index)
        self._refused = Refused()
        self._tally.forget()

    def _send_slot(self, index: int, slot: GridSlot, reason: str, flags: int) -> None:
        partial = (self.job.job, slot.block, index, tuple(slot.entered), slot.bitmap)
        self.tell(PartialSent(*partial, reason))
        self._tally.leave(slot.block, slot.bitmap)
        self._route_own(from_slot(slot, self.grid, flags))
        self._free(index)

    def _route_own(self, frame: bytes) -> None:
        """What this switch sends goes by its routes, like everything else; out of the port of its packet if need be."""
        ports = self._routes.find(frame)
        if ports is None:
            self.count("unrouted")
        else:
            self._leave_by(ports, frame)

    def _free(self, index: int) -> None:
        if self.slots[index] is not None:
            self.slots[index] = None
            self._tally.occupy(-1, self._now)

    def _sample(self) -> None:
        counters = self.counters
        self.tell(
            LoadSampled(
                self._now,
                tuple(self._in),
                tuple(self._out),
                self._added_bytes,
                counters["data_in"],
                counters["bypassed"],
            )
        )

    def _ignore(self, rank: int, block: int, reason: str, slot: int = -1) -> None:
        self.count(reason)
        self.tell(ContributionIgnored(self.job.job, rank, block, slot, reason))
