"""The engine: one frame after the other, from its headers to what leaves because of it.

It does what `switch_nodes/netreduce/program.py` does, in the same order, as one state machine: classify (`classify`),
place (`placing`), slot (`slots`), release (`releasing`), forward (`forwarding`). Decisions come from the tables
(`decisions`).
"""

from __future__ import annotations

from amaranth.hdl import Elaboratable, Module, Signal

from switch_nodes.fpga.rtl.classify import classify_states
from switch_nodes.fpga.rtl.core import Core
from switch_nodes.fpga.rtl.forwarding import forward_states
from switch_nodes.fpga.rtl.headers import Headers
from switch_nodes.fpga.rtl.placing import place_states
from switch_nodes.fpga.rtl.records import BANK_BITS
from switch_nodes.fpga.rtl.releasing import release_states
from switch_nodes.fpga.rtl.slots import slot_states

__all__ = ["Engine"]


class Engine(Core, Elaboratable):
    """`Core` has its parts and wires."""

    def elaborate(self, platform: object) -> Module:

        m, ingress = Module(), self.ingress
        for name in (
            "slot_ram", "connection_ram", "entry_ram", "message_ram", "header_ram", "header_facts", "payload_ram",
            "value_ram", "learnt_ram", "plain_ram", "folder",
        ):  # fmt: skip
            m.submodules[name] = getattr(self, name)
        self.headers = Headers(m, ingress.header, ingress.length)
        self.words_of_context(m)
        tap = self.tap
        m.d.comb += [
            tap.ring.eq(self.ring_id), tap.rank.eq(self.rank), tap.message.eq(self.message),
            tap.offset.eq(self.offset), tap.known.eq(self.is_placed),
        ]  # fmt: skip
        with m.FSM(name="engine"):
            with m.State("IDLE"):
                m.d.comb += self.idle.eq(~ingress.full & ~ingress.busy)
                m.d.sync += self.step.eq(0)
                with m.If(self.applier.hold):
                    m.d.comb += self.applier.held.eq(1)
                    with m.If(self.applier.init):
                        m.d.sync += self.context.eq(self.applier.context)
                        m.next = "INIT"
                with m.Elif(ingress.full):
                    self.pulse(m, "frames_in")
                    m.next = "HEADERS"
                    with m.If(~self.registers.running):
                        self.pulse(m, "not_running")
                        m.next = "RELEASE"
                    with m.Elif(ingress.too_long):
                        self.pulse(m, "filtered")
                        m.next = "RELEASE"
            with m.State("RELEASE"):
                m.d.comb += ingress.release.eq(1)
                m.next = "IDLE"
            self._init_states(m)
            classify_states(m, self)
            place_states(m, self)
            slot_states(m, self)
            release_states(m, self)
            forward_states(m, self)
        with m.If(self.applier.forget | self.registers.was_reset):
            m.d.sync += [self.learnt_count.eq(0), self.plain_count.eq(0), self.plain_next.eq(0)]
        return m

    def _init_states(self, m: Module) -> None:
        """A ring without any state: its slots, connections, messages, head."""
        bank, left = Signal(BANK_BITS), Signal(16)
        with m.State("INIT"):
            m.d.sync += [self.step.eq(0), bank.eq(0), left.eq(self.ring_packets)]
            m.d.sync += [signal.eq(0) for signal in (self.head_message, self.head_bank, self.head_offset, self.waiting)]
            m.next = "INIT_SLOTS"
        fresh = Signal(self.slot_shape)
        with m.State("INIT_SLOTS"):
            m.d.comb += [
                fresh.tag.eq(bank), self.slot_ram.w_en.eq(1), self.slot_ram.w_data.eq(fresh.as_value()),
                self.slot_ram.w_addr.eq(self.ring_base + self.step),
            ]  # fmt: skip
            m.d.sync += [self.step.eq(self.step + 1), left.eq(left - 1)]
            with m.If(left == 1):
                m.d.sync += [left.eq(self.ring_packets), bank.eq(bank + 1)]
            with m.If(self.step + 1 == self.ring_slots):
                m.d.sync += [self.step.eq(0), self.rank.eq(0)]
                m.next = "INIT_ENTRIES"
        with m.State("INIT_ENTRIES"):
            m.d.comb += [
                self.entry_ram.w_en.eq(1), self.entry_ram.w_addr.eq(self.at_entry(self.step)),
                self.connection_ram.w_en.eq(1),
                self.connection_ram.w_addr.eq(self.at_connection(self.context, self.rank)),
                self.registers.qpn_ram.w_en.eq(1),
                self.registers.qpn_ram.w_addr.eq(self.at_connection(self.context, self.rank)),
                self.message_ram.w_en.eq(1), self.message_ram.w_addr.eq(self.at_message(self.step)),
            ]  # fmt: skip
            m.d.sync += self.step.eq(self.step + 1)
            with m.If(self.step == (1 << BANK_BITS) - 1):
                m.d.sync += [self.step.eq(0), self.rank.eq(self.rank + 1)]
                with m.If(self.rank == self.p.members - 1):
                    m.d.comb += self.applier.init_done.eq(1)
                    m.next = "IDLE"
