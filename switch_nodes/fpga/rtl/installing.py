"""The last part of APPLY: between two frames, the staged bank becomes the active one. Contexts of rings that stay are
left alone."""

from __future__ import annotations

from typing import NamedTuple

from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal, Value

from switch_nodes.fpga.rtl.applier_pins import ApplierPins
from switch_nodes.fpga.rtl.banks import field_word

__all__ = ["BankWalk", "install_states"]

_NOWHERE = 0xFFFFFFFF


class BankWalk(NamedTuple):
    """Where APPLY is in the bank, and what it found out."""

    ring: Signal
    mac: Signal
    member: Signal
    rings: Signal
    macs: Signal
    pointer: Signal
    item: Signal
    flood_all: Signal
    same_rest: Signal
    """only rings differ"""
    wanted: Array
    """slots, by staged ring"""
    counts: Array
    """members, by staged ring"""
    kept: list[Signal]
    place: list[Signal]
    """context, by staged ring"""
    bases: list[Signal]


def install_states(m: Module, a: ApplierPins, word: Value, walk: BankWalk) -> None:
    """HOLD, to END. Rule 4 of `applying`. `word`: that was read of the staged bank."""
    p, bank, staged, active = a.p, a.map, a.staged, a.active
    ring, mac, member, rings, macs, pointer, item, flood_all, same_rest, wanted, counts, kept, place, bases = walk
    with m.State("HOLD"):
        m.d.comb += a.hold.eq(1)
        m.d.sync += [pointer.eq(0), item.eq(0), member.eq(0), mac.eq(0)]
        with m.If(a.held):
            m.d.comb += a.forget.eq(~same_rest)
            m.next = "GENERAL_READ"
    with m.State("GENERAL_READ"):
        m.d.comb += [a.hold.eq(1), staged.r_addr.eq(pointer)]
        m.next = "GENERAL"
    with m.State("GENERAL"):
        m.d.comb += a.hold.eq(1)
        m.d.sync += pointer.eq(pointer + 1)
        m.next = "GENERAL_READ"
        with m.Switch(pointer):
            with m.Case(field_word("RELEASE")):
                m.d.sync += a.asap.eq(word[0])
            with m.Case(field_word("GATE")):
                m.d.sync += a.gated.eq(word[0])
            with m.Case(field_word("HAIRPIN")):
                m.d.sync += a.hairpin.eq(word[0])
            with m.Case(field_word("FLOOD_PORTS")):
                m.d.sync += a.flood[0:32].eq(Mux(flood_all, Const(_NOWHERE, 32), word))
            if p.ports > 32:
                with m.Case(field_word("FLOOD_PORTS") + 1):
                    m.d.sync += a.flood[32:].eq(Mux(flood_all, Const(_NOWHERE, 32), word))
            with m.Case(field_word("RING_COUNT")):
                m.d.sync += [pointer.eq(0), a.mac_count.eq(macs), a.ring_count.eq(rings)]
                m.next = "MACS_READ"
    with m.State("MACS_READ"):
        m.d.comb += [a.hold.eq(1), staged.r_addr.eq(bank.mac(mac, pointer))]
        m.next = "MACS"
        with m.If(mac == macs):
            m.next = "INSTALL"
    mac_high, mac_low = Signal(16), Signal(32)
    with m.State("MACS"):
        m.d.comb += [
            a.hold.eq(1), a.mac_ram.w_addr.eq(mac),
            a.mac_ram.w_data.eq(
                Cat(
                    mac_high[8:16], mac_high[0:8], mac_low[24:32], mac_low[16:24], mac_low[8:16], mac_low[0:8],
                    word[0:6],
                )
            ),
        ]  # fmt: skip
        m.d.sync += [pointer.eq(pointer + 1), mac_low.eq(word)]
        m.next = "MACS_READ"
        with m.If(pointer == 0):
            m.d.sync += mac_high.eq(word)
        with m.If(pointer == 2):
            m.d.comb += a.mac_ram.w_en.eq(1)
            m.d.sync += [pointer.eq(0), mac.eq(mac + 1)]
    with m.State("INSTALL"):
        m.d.comb += a.hold.eq(1)
        m.d.sync += [pointer.eq(0), member.eq(0), a.context.eq(Array(place)[ring])]
        with m.If(ring == rings):
            m.d.sync += pointer.eq(0)
            m.next = "COPY_READ"
        with m.Else():
            for number in range(p.rings):
                with m.If(ring == number):
                    m.d.sync += a.order[number].eq(place[number])
            with m.If(Array(kept)[ring]):
                m.d.sync += ring.eq(ring + 1)
            with m.Else():
                m.next = "RING_READ"
    with m.State("RING_READ"):
        m.d.comb += [a.hold.eq(1), staged.r_addr.eq(bank.ring(ring, pointer))]
        m.next = "RING_WORD"
    with m.State("RING_WORD"):
        m.d.comb += a.hold.eq(1)
        m.d.sync += pointer.eq(pointer + 1)
        m.next = "RING_READ"
        for number, context in enumerate(a.rings):
            with m.If(a.context == number):
                m.d.sync += [context.base.eq(Array(bases)[ring]), context.slots.eq(wanted[ring])]
                for name, target in (
                    ("ID", context.id), ("OP", context.op), ("DTYPE", context.dtype),
                    ("PACKETS", context.packets), ("WINDOW", context.window), ("PATH_MTU", context.mtu),
                    ("MEMBERS", context.members), ("FAMILY", context.family),
                ):  # fmt: skip
                    with m.If(pointer == field_word(f"RING_{name}")):
                        m.d.sync += target.eq(word)
        with m.If(pointer == field_word("RING_MEMBERS")):
            m.d.sync += pointer.eq(1)
            m.next = "MEMBER_READ"
    port, ip = Signal(6), Signal(128)
    with m.State("MEMBER_READ"):
        m.d.comb += [a.hold.eq(1), staged.r_addr.eq(bank.member(ring, member, pointer))]
        m.next = "MEMBER_WORD"
    with m.State("MEMBER_WORD"):
        swapped = Cat(word[24:32], word[16:24], word[8:16], word[0:8])
        m.d.comb += [
            a.hold.eq(1), a.member_ram.w_addr.eq(a.context * p.members + member),
            a.member_ram.w_data.eq(Cat(ip[0:96], swapped, port)),
        ]  # fmt: skip
        m.d.sync += pointer.eq(pointer + 1)
        m.next = "MEMBER_READ"
        with m.Switch(pointer):
            with m.Case(1):
                m.d.sync += port.eq(word)
            for number in range(3):
                with m.Case(2 + number):
                    m.d.sync += ip.word_select(number, 32).eq(swapped)
            with m.Case(5):
                m.d.comb += a.member_ram.w_en.eq(1)
                m.d.sync += [pointer.eq(1), member.eq(member + 1)]
                with m.If(member + 1 == counts[ring]):
                    m.next = "INIT"
    with m.State("INIT"):
        m.d.comb += [a.hold.eq(1), a.init.eq(1)]
        with m.If(a.init_done):
            m.d.sync += ring.eq(ring + 1)
            m.next = "INSTALL"

    with m.State("COPY_READ"):
        m.d.comb += staged.r_addr.eq(pointer)
        m.next = "COPY"
    with m.State("COPY"):
        torn = a._plants["bank-torn"] & (pointer[0:3] == 3)
        m.d.comb += [active.w_en.eq(~torn), active.w_addr.eq(pointer)]
        m.d.sync += pointer.eq(pointer + 1)
        m.next = "COPY_READ"
        with m.If(pointer == bank.words - 1):
            m.next = "END"
