"""What a switch of a plan does with datagrams of GRID, on the compiled path.

It adds the packets that are addressed to its own aggregator, and sends each sum to the parameter server. It forwards
all other datagrams by the routes of the plan. What it adds is bounded by a token bucket; blocks for which there are no
tokens go around, all of their packets. What becomes of a packet in its slot is decided by `tables`.
"""

from __future__ import annotations

from array import array
from collections import deque
from collections.abc import Callable
from typing import Any

import cython

from switch_nodes.aggregators.arrival import AggregatorArrival
from switch_nodes.aggregators.memory import Aggregator
from switch_nodes.aggregators.steps import SlotService
from switch_nodes.config import SwitchConfig
from switch_nodes.events import LoadSampled, PlanInstalled
from switch_nodes.grid.bucket import TokenBucket
from switch_nodes.grid.memory import MemoryRefused
from switch_nodes.grid.packets import head_of, rate_packet
from switch_nodes.grid.routes import RouteTable
from switch_nodes.grid.tables import DROP_REASONS, GridSlotAction, GridSlotEvent, GridSlotState, slot_table
from switch_nodes.grid.tally import Tally
from switch_nodes.routes.layout import RouteOrders
from workloads.datagrams.blocks import Collided, ContributionIgnored
from workloads.grid.node_shares import ShareTable
from workloads.wire.aggregation import DatagramError, DatagramFlag, DatagramKind, Policy, decode_datagram
from workloads.wire.places import UDP_AT

if not cython.compiled:
    from switch_nodes.aggregators.packets import with_flags
    from switch_nodes.grid.memory import slot_index
    from switch_nodes.grid.packets import from_slot
    from workloads.kernels import NEVER, bit_of, get8
    from workloads.wire.inspected import AT_KIND, AT_PAYLOAD, address_of, addressed, is_sound

__all__ = ["GridService"]

_ADDRESSED, _HALF = UDP_AT, 1 << 31
"""bytes up to the end of the target's address; sequence numbers that are ahead"""
_DATA, _EXPONENTS, _RESULT = int(DatagramKind.DATA), int(DatagramKind.EXPONENTS), int(DatagramKind.RESULT)
_RESEND, _COLLISION, _GRID = int(DatagramFlag.RESEND), int(DatagramFlag.COLLISION), int(Policy.GRID)
_NEW, _COMPLETING, _REPEAT, _REFUSED = (
    GridSlotEvent.NEW,
    GridSlotEvent.COMPLETING,
    GridSlotEvent.REPEAT,
    GridSlotEvent.REFUSED,
)
_RESULT_OWN, _RESULT_OTHER = GridSlotEvent.RESULT_OWN, GridSlotEvent.RESULT_OTHER
_RESEND_OWN, _RESEND_OTHER = GridSlotEvent.RESEND_OWN, GridSlotEvent.RESEND_OTHER
_NUMBERS = "q"
"""type code of an array: 64 bits"""


class GridService(SlotService):
    """The greater part of the program. A subclass may override its methods."""

    def __init__(self, config: SwitchConfig, *queues: Any) -> None:
        assert config.grid is not None, "checked"
        self.grid, (job,) = config.grid, config.jobs
        table, kinds = slot_table(self.grid.on_collision), (GridSlotState, GridSlotEvent, GridSlotAction)
        SlotService.__init__(self, config.memory, table, kinds, *queues, traced=config.trace)
        self.tally = Tally(job)
        self._job, self._node, self._window = job.job, self.grid.node, job.window
        self._address, self._group = (int.from_bytes(ip, "big") for ip in (self.grid.ip, self.grid.group_ip))
        self.bucket = TokenBucket(self.grid.capacity_bps, self.grid.depth_ns)
        self.refused = MemoryRefused()
        self._head, self._added = head_of(self.grid), [f"added_{member.rank}" for member in job.members]
        """header of sums; names of the counters by rank"""
        self._ports, self._slots, self._added_bytes = config.ports, config.memory, 0
        self._in: Any = array(_NUMBERS, [0]) * config.ports
        self._out: Any = array(_NUMBERS, [0]) * config.ports
        self._to_come = deque(self.grid.orders)
        self._next_sample = self.grid.sample_ns or NEVER
        self.obey(self._to_come.popleft())

    def take(self, port: int, frame: bytes, now: int) -> None:
        self._now = now
        self._in[self._known(port)] += len(frame)
        ports = self._routes.find(frame)
        if ports is not None:
            if address_of(frame, True) == self._group:
                self._hear(port, frame)
            self._leave_by(ports, frame)
        elif len(frame) >= _ADDRESSED and address_of(frame, True) == self._address:
            self._receive(port, frame)
        else:
            self.forward_plainly(port, frame)

    def forward_plainly(self, port: int, frame: bytes) -> None:
        """What is no datagram with a route."""
        raise NotImplementedError

    def due(self) -> int:
        due: int = self._next_sample
        return min(due, self._to_come[0].at_ns) if self._to_come else due

    def wake(self, now: int) -> None:
        self._now = now
        while self._to_come and self._to_come[0].at_ns <= now:
            self.forget()
            self.obey(self._to_come.popleft())
        if self._next_sample <= now:
            self.sample()
            self._next_sample += -(-(now + 1 - self._next_sample) // self.grid.sample_ns) * self.grid.sample_ns

    def obey(self, orders: RouteOrders) -> None:
        """They hold from now on."""
        self._routes, self._shares = RouteTable(orders.routes), ShareTable(orders.shares)
        self.events.append(PlanInstalled(orders.planner, len(orders.routes), orders.rate_bps))

    def forget(self) -> None:
        """Under another plan other workers meet here: all of them send again what was not complete."""
        for index, slot in enumerate(self.memory.slots):
            if slot is not None:
                self._count("forgotten")
                self.tally.leave(slot.block, slot.bitmap)
                self.memory.free(index, self._now)
        self.refused = MemoryRefused()
        self.tally.forget()

    def sample(self) -> None:
        """Report what passed so far."""
        counters = self._counters
        passed = tuple(self._in), tuple(self._out), self._added_bytes
        self.events.append(LoadSampled(self._now, *passed, counters["data_in"], counters["bypassed"]))

    def _hear(self, port: int, frame: bytes) -> None:
        """A datagram to all. After a sum that all workers get, what late copies have left of its block is of no use."""
        if len(frame) < AT_PAYLOAD or get8(frame, AT_KIND) != _RESULT:
            return
        a = self._arrival
        a.meet(port, frame)
        if a.job == self._job:
            self.refused.forget(a.block)
            self.tally.deliver(a.block, self._now)
        a.slot = slot_index(a.job, a.sequence, self._slots)
        self._step(a, _RESULT_OWN if self.frees(a) else _RESULT_OTHER)

    def frees(self, a: AggregatorArrival) -> bool:
        """Whether a result is that of its slot."""
        slot = self.memory.occupant(a.slot)
        return slot is not None and slot.sequence == a.sequence and slot.job == a.job

    def _receive(self, port: int, frame: bytes) -> None:
        """Something for the aggregator."""
        a = self._arrival
        if not is_sound(frame):
            try:
                decode_datagram(frame)  # which says why
            except DatagramError as error:
                self._ignore(ContributionIgnored(self._job, -1, -1, -1, error.reason))
            return
        a.meet(port, frame)
        if not self.admit(a):
            self._ignore(ContributionIgnored(self._job, a.rank, a.block, -1, "malformed"))
            return
        self.tally.arrive(a.block, a.bitmap, self._now)
        self._count("data_in")
        self._step(a, self.judge(a))

    def admit(self, a: AggregatorArrival) -> bool:
        """Whether it is a contribution; its sender, and where it belongs, is in it then."""
        job = self.tally
        a.served, a.rank = job, job.ranks.get(a.source, -1)
        if (
            a.policy != _GRID
            or a.job != self._job
            or a.op != job.op
            or (a.kind != _DATA and a.kind != _EXPONENTS)
            or a.rank < 0
            or a.bitmap != bit_of(a.rank)
            or a.count > job.elements
        ):
            return False
        a.wanted = self._shares.expected(self._node, a.block)
        a.slot = slot_index(a.job, a.sequence, self._slots)
        return True

    def judge(self, a: AggregatorArrival) -> GridSlotEvent:
        """An empty slot is opened only for tokens, which are taken here."""
        slot = self.memory.occupant(a.slot)
        own = slot is not None and slot.sequence == a.sequence
        if slot is not None and own and (slot.size != a.count or slot.tensor != a.tensor):
            return GridSlotEvent.MISMATCH
        if a.flags & _RESEND:
            return _RESEND_OWN if own else _RESEND_OTHER
        if not a.wanted >> a.rank & 1 or self.refused.has(a.block):
            return _REFUSED
        if slot is None:
            if not self.bucket.take(self._shares.together(self._node, a.block) * len(a.frame), self._now):
                self._count("refused")
                self.refused.add(a.block)
                return _REFUSED
            return _COMPLETING if a.bitmap == a.wanted else _NEW
        if own:
            if slot.bitmap & a.bitmap:
                return _REPEAT
            return _COMPLETING if slot.bitmap | a.bitmap == a.wanted else _NEW
        ahead: int = (a.sequence - slot.sequence) & 0xFFFFFFFF
        return GridSlotEvent.SUCCESSOR if self._window <= ahead < _HALF else GridSlotEvent.OTHER

    def state_of(self, index: int) -> int:
        return 0 if self.memory.occupant(index) is None else 1

    def handlers(self) -> dict[GridSlotAction, Callable[[AggregatorArrival], object]]:
        """What is done for each action of the table."""
        return {
            **self.shared_handlers(GridSlotAction),
            GridSlotAction.SEND_SUM: self.send_sum,
            GridSlotAction.RECLAIM: self.reclaim,
            GridSlotAction.TURN_AWAY: self.turn_away,
            GridSlotAction.COLLIDE: self.collide,
            GridSlotAction.BYPASS: self.bypass,
            GridSlotAction.FLUSH: self.flush,
            GridSlotAction.PASS: self.pass_on,
            GridSlotAction.FREE: self.free,
            GridSlotAction.STAY: self.stay,
        }

    def add(self, a: AggregatorArrival) -> Aggregator:
        slot = SlotService.add(self, a)
        self._added_bytes += len(a.frame)
        self._count(self._added[a.rank])
        return slot

    def send_sum(self, a: AggregatorArrival) -> None:
        slot = self.add(a)
        self._count("summed")
        self.tally.useful_ns += self._now - slot.opened
        self._send_slot(a, slot, "complete", 0)

    def flush(self, a: AggregatorArrival) -> None:
        """A worker misses the sum: all that is here of the block goes to the server, with what the worker brought.
        Later packets of it go around."""
        slot = self._occupant(a.slot)
        if not slot.bitmap & a.bitmap:
            self.add(a)
        self._count("flushed")
        self._send_slot(a, slot, "flushed", _RESEND)
        self.go_around(a, slot.bitmap)

    def pass_on(self, a: AggregatorArrival) -> None:
        self._count("passed")
        self.go_around(a, a.bitmap)
        self._send_on(a, a.flags_with(0))

    def bypass(self, a: AggregatorArrival) -> None:
        self._count("bypassed")
        self.tally.leave(a.block, a.bitmap)
        self.refused.pass_by(a.block, a.bitmap, a.wanted)
        self._send_on(a, a.flags_with(0))

    def collide(self, a: AggregatorArrival) -> None:
        slot = self._occupant(a.slot)
        self._count("collided")
        self.events.append(Collided(a.job, a.block, a.rank, a.slot, slot.job, slot.block))
        self.go_around(a, a.bitmap)
        self._send_on(a, a.flags | _COLLISION)

    def turn_away(self, a: AggregatorArrival) -> None:
        self._count("turned_away")
        self._drop(a, DROP_REASONS[GridSlotAction.TURN_AWAY])
        self._route_own(rate_packet(a, self.grid))

    def reclaim(self, a: AggregatorArrival) -> None:
        self._count("reclaimed")
        self.memory.free(a.slot, self._now)
        self._step(a, self.judge(a))

    def free(self, a: AggregatorArrival) -> None:
        self._count("freed")
        self.memory.free(a.slot, self._now)

    def stay(self, a: AggregatorArrival) -> None:
        pass

    def go_around(self, a: AggregatorArrival, bitmap: int) -> None:
        """The rest of the block does not stop here: what it would wait for is with the server."""
        self.tally.leave(a.block, bitmap)
        if bitmap != a.wanted and not self.refused.has(a.block):
            self.refused.add(a.block)
        self.refused.pass_by(a.block, bitmap, a.wanted)

    def _send_slot(self, a: AggregatorArrival, slot: Aggregator, reason: str, flags: int) -> None:
        self._tell_partial(slot, a.slot, reason)
        self.tally.leave(slot.block, slot.bitmap)
        self._route_own(from_slot(slot, self._head, flags))
        self.memory.free(a.slot, self._now)

    def _send_on(self, a: AggregatorArrival, flags: int) -> None:
        """The packet to the server."""
        self._route_own(addressed(with_flags(a, flags), self.grid.server_mac, self.grid.server_ip))

    def _route_own(self, frame: bytes) -> None:
        """What this switch sends goes by its routes, like everything else; out of the port of its packet if need be."""
        ports = self._routes.find(frame)
        if ports is None:
            self._count("unrouted")
        else:
            self._leave_by(ports, frame)

    def _leave_by(self, ports: tuple[int, ...], frame: bytes) -> None:
        self._count("routed")
        for port in ports:
            self.send(port, frame)

    def send(self, port: int, frame: bytes) -> None:
        self._out[self._known(port)] += len(frame)
        self.outbox.append((port, frame))

    def _known(self, port: int) -> int:
        if not 0 <= port < self._ports:
            raise IndexError(f"port {port} of {self._ports}")
        return port
