"""What the states of the engine share: memories, what is known of the frame under way, addresses."""

from __future__ import annotations

from amaranth.hdl import Array, Cat, Module, Mux, Signal, Value

from switch_nodes.fpga.rtl.applying import Applier
from switch_nodes.fpga.rtl.counters import CardCounters
from switch_nodes.fpga.rtl.emitter import Emitter
from switch_nodes.fpga.rtl.folding import Folder
from switch_nodes.fpga.rtl.headers import Headers
from switch_nodes.fpga.rtl.ingress import Ingress
from switch_nodes.fpga.rtl.memory import Ram
from switch_nodes.fpga.rtl.names import Happening
from switch_nodes.fpga.rtl.naming import name_signals
from switch_nodes.fpga.rtl.parameters import HEADER_BYTES, RtlParameters
from switch_nodes.fpga.rtl.plants import Plants
from switch_nodes.fpga.rtl.records import (
    BANK_BITS,
    TAG_BITS,
    connection_layout,
    entry_layout,
    header_layout,
    message_layout,
    slot_layout,
)
from switch_nodes.fpga.rtl.registers import Registers
from switch_nodes.fpga.rtl.tap import StatusTap
from switch_nodes.netreduce.tables import ConnectionEvent, ConnectionState, FrameKind, RingSlotAction, RingSlotEvent

__all__ = ["Core"]


class Core:
    """Between `ingress` and `emitter`, configured by `applier`. `idle`: no frame is under way here."""

    def __init__(
        self, p: RtlParameters, ingress: Ingress, emitter: Emitter, applier: Applier, registers: Registers,
        counters: CardCounters, plants: Plants | None = None, *, verilog: bool = True,
    ) -> None:  # fmt: skip
        self.plants = plants or Plants()
        self.p, self.ingress, self.emitter, self.applier = p, ingress, emitter, applier
        self.registers, self.counters, self.tap = registers, counters, StatusTap()
        self.idle = Signal()
        contexts, beats = p.rings * p.members, HEADER_BYTES // p.beat

        def ram(width: int, depth: int) -> Ram:
            return Ram(width, depth, verilog=verilog)

        self.slot_shape, self.connection_shape = slot_layout(p), connection_layout()
        self.entry_shape, self.message_shape, self.header_shape = entry_layout(), message_layout(), header_layout()
        self.slot_ram = ram(self.slot_shape.size, p.slots)
        self.connection_ram = ram(self.connection_shape.size, contexts)
        self.entry_ram = ram(self.entry_shape.size, contexts << BANK_BITS)
        self.message_ram = ram(self.message_shape.size, p.rings << BANK_BITS)
        self.header_ram = ram(p.width, p.slots * p.members * beats)
        self.header_facts = ram(self.header_shape.size, p.slots * p.members)
        self.payload_ram = ram(p.width, p.slots * p.members * p.payload_words)
        self.value_ram = ram(p.width, p.slots * p.payload_words)
        self.learnt_ram = ram(54, p.learnt)
        self.plain_ram = ram(280, p.plain)
        self.folder = Folder(p, self.plants, verilog=verilog)

        # What is known of the frame under way. Its connection: `context`, `rank`. Its place: `message`, `bank`,
        # `entry`, `offset`, `packets`.
        rank = range(p.members)
        self.kind = Signal(range(len(FrameKind)))
        self.context, self.rank = Signal(range(max(p.rings, 2))), Signal(rank)
        self.state = Signal(range(len(ConnectionState)))
        self.event = Signal(range(len(ConnectionEvent)))
        self.slot_event = Signal(range(len(RingSlotEvent)))
        self.message, self.bank, self.entry = Signal(32), Signal(BANK_BITS), Signal(BANK_BITS)
        self.offset, self.packets = Signal(16), Signal(16)
        self.slot = Signal(range(p.slots))
        self.connection = Signal(self.connection_shape)
        self.record = Signal(self.slot_shape)
        """of `slot`"""
        # Edges that the frame runs on: the connection that knows its QPN, the one that its INA header names, the first.
        self.is_known, self.is_named = Signal(), Signal()
        self.known_context, self.known_rank = Signal.like(self.context), Signal.like(self.rank)
        self.named_context, self.named_rank = Signal.like(self.context), Signal.like(self.rank)
        self.first_context, self.first_rank = Signal.like(self.context), Signal.like(self.rank)
        # Its elements and header in bytes, the words of its elements, its bit in sets of members, what is done with it.
        self.size, self.header_bytes = Signal(16), Signal(8)
        self.element_words, self.bit = Signal(range(p.payload_words + 1)), Signal(p.members)
        self.action = Signal(range(len(RingSlotAction)))
        # Results that leave: of this slot, on these connections; and where to go on then.
        self.sent, self.sent_slot = Signal(self.slot_shape), Signal.like(self.slot)
        self.mask, self.back = Signal(p.members), Signal(2)
        self.heads = [
            tuple(
                Signal(width, name=f"head{number}_{name}")
                for name, width in (("message", TAG_BITS), ("bank", BANK_BITS), ("offset", 16), ("waiting", 24))
            )
            for number in range(p.rings)
        ]
        self.learnt_count, self.plain_count = Signal(range(p.learnt + 1)), Signal(range(p.plain + 1))
        self.plain_next = Signal(range(max(p.plain, 2)))
        self.step = Signal(24)
        """counter of the state that runs"""
        self.is_placed = Signal()
        """`message` and `offset` are those of the frame"""
        name_signals(self)
        self.headers: Headers
        """of the frame under way"""

    def words_of_context(self, m: Module) -> None:
        """Wires: the ring of `context`, its head, and what follows from them."""
        rings = self.applier.rings

        def of(name: str) -> Signal:
            values = [getattr(ring, name) for ring in rings]
            wire = Signal(values[0].shape(), name=f"ring_{name}")
            m.d.comb += wire.eq(Array(values)[self.context])
            return wire

        self.ring_packets, self.ring_window, self.ring_members = of("packets"), of("window"), of("members")
        self.ring_base, self.ring_slots, self.ring_mtu = of("base"), of("slots"), of("mtu")
        self.ring_op, self.ring_dtype, self.ring_id = of("op"), of("dtype"), of("id")
        self.ring_family = of("family")
        self.banks, self.entries = Signal(BANK_BITS), Signal(BANK_BITS)
        self.everyone = Signal(self.p.members)
        m.d.comb += [
            self.banks.eq(self.ring_window << 1), self.entries.eq((self.ring_window << 1) + 1),
            self.everyone.eq((1 << self.ring_members) - 1),
        ]  # fmt: skip
        self.head_message, self.head_bank, self.head_offset, self.waiting = (
            Array(head[at] for head in self.heads)[self.context] for at in range(4)
        )

    def pulse(self, m: Module, name: str) -> None:
        m.d.comb += self.counters.pulse[name].eq(1)

    def ignore(self, m: Module, reason: str) -> None:
        """The packet enters no sum."""
        self.pulse(m, reason)
        self.tap.report(m, Happening.IGNORED, reason=reason)

    def at_connection(self, context: Value, rank: Value) -> Value:
        """Address of a connection."""
        return Cat(rank[0 : len(self.rank)], context) if self.p.rings > 1 else rank

    def at_entry(self, entry: Value) -> Value:
        return Cat(entry[0:BANK_BITS], self.rank, self.context)

    def at_message(self, bank: Value) -> Value:
        return Cat(bank[0:BANK_BITS], self.context)

    def slot_at(self, bank: Value, offset: Value) -> Value:
        return self.ring_base + bank * self.ring_packets + offset

    def next_of(self, value: Value, count: Value) -> Value:
        return Mux(value + 1 == count, 0, value + 1)[0:BANK_BITS]

    def before(self, value: Value, count: Value) -> Value:
        return Mux(value == 0, count - 1, value - 1)[0:BANK_BITS]
