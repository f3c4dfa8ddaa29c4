"""One installed ring: its shape, and all state that the switch keeps for it, in NumPy arrays of fixed size.

State Record, Header Buffer, Payload Buffer and Aggregation Value are separate arrays, as in the prototype of the paper
(ASPLOS'23, p. 9); their contents are decided here. Everything that changes per packet lies in C-contiguous arrays, so
that a compiled loop can work on the same memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import numpy as np

from switch_nodes.config import RingConfig, SwitchConfig
from switch_nodes.netreduce.ring_checks import check_ring
from switch_nodes.netreduce.rows import rows_of
from switch_nodes.netreduce.tables import SLOT_TABLE, RingSlotEvent, RingSlotState, SlotTable
from workloads.collectives.ina_header import DTYPE_CODES, OP_CODES
from workloads.machine import Buffer

__all__ = ["HEADER_ROOM", "Cursor", "Ring"]

HEADER_ROOM = 128
"""bytes reserved for one stored header: Eth 14, IPv6 40, UDP 8, BTH 12, RETH 16, ImmDt 4, INA 16 make 110"""


class Cursor:
    """Indices into `Ring.cursor`."""

    HEAD_MESSAGE, HEAD_OFFSET, WAITING, OCCUPIED, PEAK, ORDERS = range(6)
    COUNT = 6


class Ring:
    """P = size, N = window, L = message_packets, S = slots = 2 N L. A slot is (message mod 2N) * L + offset.

    Slots (state record): `tag` int64 (S,), the message that the slot serves. `bitmap` uint64 (S,), ranks that
    contributed. `released` uint64 (S,), connections that got the result in turn or early. `done`, `ce` uint8 (S,).
    `length` int32 (S,), bytes of elements of each contribution. Header buffer: `header` uint8 (S, P, 128),
    `header_length` int32 (S, P). Payload buffer: `payload` uint8 (S, P, mtu). Aggregation value: `value` uint8 (S,
    mtu).

    Messages, by message mod 2N: `message` int64, -1 for none. `announced` int32, packets of it. `completed` int32,
    slots done. `entered` int32 (2N, P), payloads of each rank that entered its sums.

    Connections (connection table), by rank: `qpn` int64, -1 for unknown. `newest` int64, newest message or -1. Entries
    by message mod (2N+1): `entry_message` int64 (P, 2N+1), -1 for none. `entry_id` int64, its message id. `entry_psn`,
    `entry_length` int32. `plain_from`, `plain_to` int64, the PSNs without INA header, -1 for none and for no end.
    `expected` int64, next new PSN or -1.

    Only with `tells_held`: `sent_order` int64 (S, P), when the slot last sent on each connection, counted by all that
    left (`cursor`), -1 for never. `came` int64 (P, ports), the PSN that came last on a connection. It is column 0, or
    the column of the port for a connection that comes from above.

    `cursor` int64: see `Cursor`; the head is the oldest position, in PSN order, that is not complete.

    Here and in everything that works on a ring, a connection's "rank" is its index among the members. `ranks` has the
    numbers that packets and events name.
    """

    slot_table: ClassVar[SlotTable] = SLOT_TABLE
    """what is done with the packets of a slot"""
    banks_per_window = 2
    """2N message slots: one window open, one that may still have to be replayed"""

    def __init__(self, config: RingConfig, switch: SwitchConfig) -> None:
        check_ring(config, switch)
        self.config = config
        self.id, self.size, self.window = config.ring_id, len(config.members), config.window_messages
        self.message_packets, self.mtu = config.message_packets, config.path_mtu
        self.connections = self.size
        """rows of headers and of the connection table"""
        self.ranks = [member.rank for member in config.members]
        self.group = self.size
        """hosts of the whole ring"""
        self.banks = self.banks_per_window * self.window
        self.slots = self.banks * self.message_packets
        self.everyone = (1 << self.size) - 1
        self.ingress = [member.port for member in config.members]
        self.egress = self.ingress[1:] + self.ingress[:1]
        ips = [member.ip for member in config.members]
        self.edges = list(zip(ips, ips[1:] + ips[:1], strict=True))
        """(source IP, destination IP) of connection k"""
        self.is_irn = bool(config.receive_vas)
        """its connections use IRN, so that each packet names its place"""
        self.op, self.dtype = OP_CODES[config.arithmetic.op], DTYPE_CODES[config.arithmetic.dtype]
        self._shape(config)
        size, slots, connections = self.size, self.slots, self.connections
        vas = config.receive_vas
        self.receive_vas = [vas[(rank + 1) % self.group] for rank in self.ranks] if vas else []
        """start of the receiver's memory, by connection"""

        self.tag = np.repeat(np.arange(self.banks, dtype=np.int64), self.message_packets)
        self.bitmap = np.zeros(slots, np.uint64)
        self.released = np.zeros(slots, np.uint64)
        self.done = np.zeros(slots, np.uint8)
        self.ce = np.zeros(slots, np.uint8)
        self.length = np.zeros(slots, np.int32)
        self.header = rows_of((slots, connections, HEADER_ROOM))
        self.header_length = np.zeros((slots, connections), np.int32)
        self.payload = rows_of((slots, size, self.mtu))
        self.value = rows_of((slots, self.mtu))

        self.message = np.full(self.banks, -1, np.int64)
        self.announced = np.zeros(self.banks, np.int32)
        self.completed = np.zeros(self.banks, np.int32)
        self.entered = np.zeros((self.banks, size), np.int32)

        entries = 2 * self.window + 1
        self.qpn = np.full(connections, -1, np.int64)
        self.newest = np.full(connections, -1, np.int64)
        self.entry_message = np.full((connections, entries), -1, np.int64)
        self.entry_id = np.full((connections, entries), -1, np.int64)
        self.entry_psn = np.zeros((connections, entries), np.int32)
        self.entry_length = np.zeros((connections, entries), np.int32)
        self.plain_from = np.full(connections, -1, np.int64)
        self.plain_to = np.full(connections, -1, np.int64)
        self.expected = np.full(connections, -1, np.int64)

        self.cursor = np.zeros(Cursor.COUNT, np.int64)
        self.tells_held = config.tells_held
        if config.tells_held:
            self.sent_order = np.full((slots, connections), -1, np.int64)
            self.came = np.full((connections, 1 + self.most_port), -1, np.int64)

    def _shape(self, config: RingConfig) -> None:
        """For rings of several switches: their own connections, before the arrays are made."""

    def accepts(self, rank: int, port: int) -> bool:
        """Whether packets of a connection come in by this port."""
        return self.ingress[rank] == port

    def number_of(self, message_id: int) -> int | None:
        """The number under which this switch keeps a message; None when it is another switch's."""
        return message_id

    def message_id(self, number: int) -> int:
        """The inverse."""
        return number

    def is_next(self, number: int) -> bool:
        """Whether message `number` + 1 follows `number` on every connection with nothing in between."""
        return True

    def early(self, number: int) -> int:
        """Connections, as a bitmap, on which a slot of message `number` past the head leaves early (rule A). These are
        the ones whose own contribution is missing at the head."""
        return self.missing(*self.head())

    def place_of(self, rank: int, va: int) -> tuple[int, int] | None:
        """(message id, offset) of a packet of connection `rank` under IRN that goes to address `va`; None: no packet
        does."""
        position, rest = divmod(va - self.receive_vas[rank], self.mtu)
        return None if rest or position < 0 else divmod(position, self.message_packets)

    def has(self, slot: int, rank: int) -> bool:
        """Whether what comes on connection `rank` is in the slot."""
        return bool(int(self.bitmap[slot]) >> rank & 1)

    def went_on(self, slot: int, rank: int) -> bool:
        """Whether what came on connection `rank` left with the others of the slot, once at least."""
        return bool(self.done[slot])

    def answer_port(self, rank: int, number: int) -> int | None:
        """Port by which answers about message `number` of connection `rank` leave; None: as a plain switch would."""
        return None

    def note_sent(self, slot: int, connection: int) -> None:
        """A slot's packet, sum or value leaves on a connection."""
        if self.tells_held:
            self.cursor[Cursor.ORDERS] += 1
            self.sent_order[slot, connection] = self.cursor[Cursor.ORDERS]

    def header_row(self, rank: int) -> int:
        """Of the header buffer: under whose header the result on connection `rank` leaves."""
        return rank

    def raw_exit(self, rank: int, number: int) -> int | None:
        """Port by which a packet of connection `rank` leaves as it came; None: as a plain switch would."""
        return None

    def slot_state(self, slot: int) -> RingSlotState:
        if self.done[slot]:
            return RingSlotState.DONE
        return RingSlotState.OPEN if self.bitmap[slot] else RingSlotState.EMPTY

    def slot_event(self, slot: int, rank: int, elements: Buffer) -> RingSlotEvent:
        """What a packet is to its slot that serves its message, and whose size it has."""
        bit, bitmap = 1 << rank, int(self.bitmap[slot])
        if not bitmap & bit:
            return RingSlotEvent.COMPLETING if bitmap | bit == self.everyone else RingSlotEvent.NEW
        if int(self.released[slot]) & bit:
            return RingSlotEvent.REPEAT_ANSWERED
        return RingSlotEvent.REPEAT if self._is_same(slot, rank, elements) else RingSlotEvent.REPEAT_CHANGED

    def _is_same(self, slot: int, rank: int, elements: Buffer) -> bool:
        """Whether the slot has these very elements of that rank."""
        return bytes(elements) == self.payload[slot, rank, : len(elements)].tobytes()

    def slot_of(self, message: int, offset: int) -> int:
        """Never a function of the PSN alone: the number of slots need not divide 2^24."""
        return message % self.banks * self.message_packets + offset

    def head(self) -> tuple[int, int]:
        """(message, offset)"""
        return int(self.cursor[Cursor.HEAD_MESSAGE]), int(self.cursor[Cursor.HEAD_OFFSET])

    @property
    def most_port(self) -> int:
        """The highest port by which packets of one connection may come in several ways; 0: none does."""
        return 0

    def note_came(self, rank: int, port: int, psn: int) -> None:
        """A packet of a connection came to its slot."""
        if self.tells_held:
            self.came[rank, 0] = psn

    @property
    def newest_complete(self) -> int:
        """The newest message such that it and all before it are complete; -1 for none."""
        return int(self.cursor[Cursor.HEAD_MESSAGE]) - 1

    def announce(self, message: int, packets: int) -> None:
        """A FIRST of `message` was accepted: its length is known to all connections."""
        index = message % self.banks
        if self.message[index] != message:
            self.message[index], self.announced[index], self.completed[index] = message, packets, 0
            self.entered[index] = 0

    def packets_of(self, message: int) -> int:
        """Length of an announced message; 0 when it is not announced, or long gone."""
        index = message % self.banks
        return int(self.announced[index]) if self.message[index] == message else 0

    def missing(self, message: int, offset: int) -> int:
        """Ranks, as a bitmap, whose contribution (message, offset) still lacks."""
        slot = self.slot_of(message, offset)
        return self.everyone & ~int(self.bitmap[slot]) if self.tag[slot] == message else self.everyone

    def occupy(self, amount: int) -> None:
        """`amount` more slots hold contributions (negative: fewer)."""
        occupied = int(self.cursor[Cursor.OCCUPIED]) + amount
        self.cursor[Cursor.OCCUPIED] = occupied
        self.cursor[Cursor.PEAK] = max(int(self.cursor[Cursor.PEAK]), occupied)

    @property
    def open_slots(self) -> int:
        """Slots with a contribution and no value yet."""
        return int(np.count_nonzero((self.bitmap != 0) & (self.done == 0)))

    def done_behind_head(self) -> Iterator[tuple[int, int, int]]:
        """(message, offset, slot) of complete slots after the head, in PSN order."""
        message, first = self.head()
        first += 1
        for later in range(message, message + self.banks):
            packets = self.packets_of(later)
            base = self.slot_of(later, 0)
            window = slice(base + first, base + packets)
            for index in np.flatnonzero(self.done[window] & (self.tag[window] == later)):
                yield later, first + int(index), base + first + int(index)
            first = 0
