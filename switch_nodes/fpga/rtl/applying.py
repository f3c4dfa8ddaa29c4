"""APPLY: the staged bank is checked, then becomes the active one between two frames, or nothing changes.

Rule 1: every word has a range (`contexts`); a word outside ends APPLY with REFUSED_VALUE and its address.
Rule 2: where only rings differ, a ring with the same words keeps its context: its slots and connections.
Rule 3: a new ring gets a free context, and the first range of free slots that it fits in.
Rule 4: the engine waits only while contexts are written.
"""

from __future__ import annotations

from amaranth.hdl import Array, Cat, Elaboratable, Module, Mux, Signal

from switch_nodes.fpga.regmap import REGISTERS, Failure
from switch_nodes.fpga.rtl.applier_pins import ApplierPins
from switch_nodes.fpga.rtl.banks import field_word
from switch_nodes.fpga.rtl.contexts import GENERAL, MAC, MEMBER, RING, RingContext, checks_of
from switch_nodes.fpga.rtl.installing import BankWalk, install_states

__all__ = ["Applier"]

_NOWHERE = 0xFFFFFFFF


class Applier(ApplierPins, Elaboratable):
    """`ApplierPins` has its wires and memories."""

    def elaborate(self, platform: object) -> Module:
        p, m, bank = self.p, Module(), self.map
        m.submodules.staged, m.submodules.active = self.staged, self.active
        m.submodules.members, m.submodules.macs = self.member_ram, self.mac_ram
        staged, active = self.staged, self.active
        checks = checks_of(p)
        word = staged.r_data
        section, item = Signal(2), Signal(range(16))
        ring_bits = range(max(p.rings, 2))
        # `ring`, `other` and `mac` end at the count of a full bank, so they hold one number more than it has places.
        ring, mac, member = Signal(range(p.rings + 1)), Signal(range(p.macs + 1)), Signal(range(p.members))
        rings, macs = Signal(range(p.rings + 1)), Signal(range(p.macs + 1))
        flood_all = Signal()
        total = Signal(32)
        shapes = [RingContext(p, 90 + number) for number in range(p.rings)]  # what the staged rings need
        wanted = Array(shape.slots for shape in shapes)
        counts = Array(shape.members for shape in shapes)
        kept = [Signal(name=f"kept{number}") for number in range(p.rings)]
        place = [Signal(ring_bits, name=f"place{number}") for number in range(p.rings)]
        bases = [Signal(range(2 * p.slots + 1), name=f"base{number}") for number in range(p.rings)]
        used = Signal(p.rings)  # contexts that stay or are given
        same_rest = Signal()
        pointer = Signal(range(max(self.map.words, 512)))
        other = Signal(range(p.rings + 1))
        ids = Array(shape.id for shape in shapes)
        context_bases = Array(context.base for context in self.rings)
        context_slots = Array(context.slots for context in self.rings)

        def refuse(address: object) -> None:
            m.d.sync += [self.failure.eq(int(Failure.REFUSED_VALUE)), self.address.eq(address)]
            m.next = "END"

        m.d.comb += self.busy.eq(1)
        m.d.comb += [
            active.w_data.eq(staged.r_data), staged.r_addr.eq(self.bus_index), active.r_addr.eq(self.bus_index),
            staged.w_addr.eq(self.bus_index), staged.w_data.eq(self.bus_data),
            self.member_ram.r_addr.eq(self.members_addr), self.mac_ram.r_addr.eq(self.macs_addr),
        ]  # fmt: skip
        check_word, low, high, one_of, is_index = Signal(8), Signal(32), Signal(32), Signal(), Signal()
        chosen_well = Signal()
        with m.Switch(Cat(item, section)):
            for which, each in checks.items():
                for number, check in enumerate(each):
                    with m.Case(which << len(item) | number):
                        m.d.comb += [
                            check_word.eq(check.word), low.eq(check.low), high.eq(check.high),
                            one_of.eq(bool(check.choices)), is_index.eq(check.is_index),
                        ]  # fmt: skip
                        if check.choices:
                            m.d.comb += chosen_well.eq(
                                sum((word == choice for choice in check.choices[1:]), word == check.choices[0]) != 0
                            )
        lengths = Array(len(checks[which]) for which in range(4))
        places = Array(
            (bank.general(check_word), bank.mac(mac, check_word), bank.ring(ring, check_word),
             bank.member(ring, member, check_word))
        )  # fmt: skip
        first = Mux(section == MAC, mac, ring)

        with m.FSM(init="CLEAR_ALL"):
            with m.State("CLEAR_ALL"):  # power came, or RESET
                m.d.comb += [
                    staged.w_en.eq(1), staged.w_addr.eq(pointer), staged.w_data.eq(0), active.w_en.eq(1),
                    active.w_addr.eq(pointer), active.w_data.eq(0),
                ]  # fmt: skip
                m.d.sync += [pointer.eq(pointer + 1), self.ring_count.eq(0), self.mac_count.eq(0)]
                with m.If(pointer == bank.words - 1):
                    m.d.sync += self.failure.eq(0)
                    m.next = "END"
            with m.State("CLEAR_STAGED"):
                m.d.comb += [staged.w_en.eq(1), staged.w_addr.eq(pointer), staged.w_data.eq(0)]
                m.d.sync += pointer.eq(pointer + 1)
                with m.If(pointer == bank.words - 1):
                    m.next = "END"
            with m.State("IDLE"):
                m.d.comb += [self.busy.eq(0), staged.w_en.eq(self.bus_write)]
                m.d.sync += [pointer.eq(0), self.address.eq(_NOWHERE), self.failure.eq(0)]
                m.d.sync += [section.eq(GENERAL), item.eq(0), mac.eq(0), ring.eq(0), member.eq(0), total.eq(0)]
                with m.If(self.reset):
                    m.next = "CLEAR_ALL"
                with m.Elif(self.discard):
                    m.next = "CLEAR_STAGED"
                with m.Elif(self.start):
                    m.next = "CHECK_READ"

            with m.State("CHECK_READ"):
                m.d.comb += staged.r_addr.eq(places[section])
                m.next = "CHECK"
            with m.State("CHECK"):
                m.next = "CHECK_READ"
                m.d.sync += item.eq(item + 1)
                with m.If(section == GENERAL), m.Switch(check_word):
                    with m.Case(field_word("MAC_COUNT")):
                        m.d.sync += macs.eq(word)
                    with m.Case(field_word("RING_COUNT")):
                        m.d.sync += rings.eq(word)
                with m.If(section == RING):
                    for name in ("id", "packets", "window", "members"):
                        with m.If(check_word == field_word(f"RING_{name.upper()}")):
                            for number, shape in enumerate(shapes):
                                with m.If(ring == number):
                                    m.d.sync += getattr(shape, name).eq(word)
                is_bad = Mux(one_of, ~chosen_well, Mux(is_index, word != member, (word < low) | (word > high)))
                # FLOOD_PORTS means nothing while FLOOD_ALL is set.
                is_flood = (section == GENERAL) & (
                    (check_word == field_word("FLOOD_PORTS")) | (check_word == field_word("FLOOD_PORTS") + 1)
                )
                with m.If((section == GENERAL) & (check_word == field_word("FLOOD_ALL"))):
                    m.d.sync += flood_all.eq(word[0])
                with m.If(is_bad & ~(is_flood & flood_all)):
                    refuse(bank.address(section, first, member, check_word))
                with m.Elif(item + 1 == lengths[section]):
                    m.next = "CHECKED"
            with m.State("CHECKED"):  # a record is good: to the next one
                m.d.sync += item.eq(0)
                m.next = "CHECK_READ"
                with m.Switch(section):
                    with m.Case(GENERAL):
                        with m.If(macs != 0):
                            m.d.sync += section.eq(MAC)
                        with m.Elif(rings != 0):
                            m.d.sync += section.eq(RING)
                        with m.Else():
                            m.next = "COMPARE_REST"
                    with m.Case(MAC):
                        m.d.sync += mac.eq(mac + 1)
                        with m.If(mac + 1 == macs):
                            m.d.sync += section.eq(RING)
                            with m.If(rings == 0):
                                m.next = "COMPARE_REST"
                    with m.Case(RING):
                        m.d.sync += [section.eq(MEMBER), member.eq(0)]
                        m.next = "RING_CHECKED"
                    with m.Case(MEMBER):
                        m.d.sync += member.eq(member + 1)
                        with m.If(member + 1 == counts[ring]):
                            m.d.sync += [section.eq(RING), ring.eq(ring + 1)]
                            with m.If(ring + 1 == rings):
                                m.next = "COMPARE_REST"
            with m.State("RING_CHECKED"):
                needed = Signal(32)
                packets, window = (Array(getattr(shape, name) for shape in shapes) for name in ("packets", "window"))
                m.d.comb += needed.eq(packets[ring] * (window[ring] << 1))
                m.d.sync += total.eq(total + needed)
                for number, shape in enumerate(shapes):
                    with m.If(ring == number):
                        m.d.sync += [shape.slots.eq(needed), kept[number].eq(0)]
                m.next = "CHECK_READ"
                with m.If(total + needed > p.slots):
                    refuse(REGISTERS["MAX_SLOTS"].address)
                for number in range(p.rings - 1):
                    with m.If((ring > number) & (ids[number] == ids[ring])):
                        refuse(_NOWHERE)

            # Rule 2. Words 0 .. 14 and the MAC table first.
            with m.State("COMPARE_REST"):
                m.d.sync += [same_rest.eq(1), pointer.eq(0), used.eq(0), ring.eq(0), other.eq(0)]
                m.next = "COMPARE_REST_READ"
            with m.State("COMPARE_REST_READ"):
                m.d.comb += [staged.r_addr.eq(pointer), active.r_addr.eq(pointer)]
                m.next = "COMPARE_REST_WORD"
            with m.State("COMPARE_REST_WORD"):
                m.next = "COMPARE_REST_READ"
                m.d.sync += pointer.eq(pointer + 1)
                with m.If((staged.r_data != active.r_data) & (pointer != field_word("RING_COUNT"))):
                    m.d.sync += same_rest.eq(0)
                with m.If(pointer == bank.macs_at - 1 + (macs << 2)):
                    m.d.sync += pointer.eq(0)
                    m.next = "COMPARE_RING"
            with m.State("COMPARE_RING"):  # staged ring `ring` with active ring `other`
                m.d.sync += pointer.eq(0)
                m.next = "COMPARE_RING_READ"
                with m.If(ring == rings):
                    m.d.sync += ring.eq(0)
                    m.next = "PLACE"
                with m.Elif(~same_rest | (other == self.ring_count)):
                    m.d.sync += [ring.eq(ring + 1), other.eq(0)]
                    m.next = "COMPARE_RING"
            with m.State("COMPARE_RING_READ"):
                at_member = pointer >= 128
                inner = (pointer - 128)[0 : len(pointer)]
                m.d.comb += [
                    staged.r_addr.eq(
                        Mux(at_member, bank.member(ring, inner >> 4, inner[0:4]), bank.ring(ring, pointer))
                    ),
                    active.r_addr.eq(
                        Mux(at_member, bank.member(other, inner >> 4, inner[0:4]), bank.ring(other, pointer))
                    ),
                ]
                m.next = "COMPARE_RING_WORD"
            with m.State("COMPARE_RING_WORD"):
                m.next = "COMPARE_RING_READ"
                m.d.sync += pointer.eq(pointer + 1)
                with m.If(staged.r_data != active.r_data):
                    m.d.sync += other.eq(other + 1)
                    m.next = "COMPARE_RING"
                with m.Elif(pointer == 127 + (counts[ring] << 4)):
                    context = Array(self.order)[other]
                    for number in range(p.rings):
                        with m.If(ring == number):
                            m.d.sync += [kept[number].eq(1), place[number].eq(context)]
                    m.d.sync += [used.bit_select(context, 1).eq(1), ring.eq(ring + 1), other.eq(0)]
                    m.next = "COMPARE_RING"

            # Rule 3.
            with m.State("PLACE"):
                free = Signal(ring_bits)
                for number in reversed(range(p.rings)):
                    with m.If(~used[number]):
                        m.d.comb += free.eq(number)
                m.next = "PLACE"
                with m.If(ring == rings):
                    m.d.sync += ring.eq(0)
                    m.next = "HOLD"
                with m.Elif(Array(kept)[ring]):
                    m.d.sync += ring.eq(ring + 1)
                with m.Else():
                    for number in range(p.rings):
                        with m.If(ring == number):
                            m.d.sync += [place[number].eq(free), bases[number].eq(0)]
                    m.d.sync += [used.bit_select(free, 1).eq(1), other.eq(0), self.context.eq(free)]
                    m.next = "FIT"
            with m.State("FIT"):  # against every context in use: those that stay, and those of this APPLY
                base = Array(bases)[ring]
                taken = Signal()
                their_base, their_end = Signal(32), Signal(32)
                m.d.comb += their_end.eq(their_base + Array(context_slots)[Array(place)[other]])
                m.d.comb += their_base.eq(context_bases[Array(place)[other]])
                with m.If(~Array(kept)[other]):
                    m.d.comb += [
                        their_base.eq(Array(bases)[other]), their_end.eq(Array(bases)[other] + wanted[other]),
                    ]  # fmt: skip
                m.d.comb += taken.eq((Array(kept)[other] | (other < ring)) & (other != ring))
                m.d.sync += other.eq(other + 1)
                with m.If(base + wanted[ring] > p.slots):
                    refuse(REGISTERS["MAX_SLOTS"].address)
                with m.Elif(taken & (base < their_end) & (base + wanted[ring] > their_base)):
                    for number in range(p.rings):
                        with m.If(ring == number):
                            m.d.sync += bases[number].eq(their_end)
                    m.d.sync += other.eq(0)
                with m.Elif(other + 1 >= rings):
                    m.d.sync += ring.eq(ring + 1)
                    m.next = "PLACE"

            install_states(
                m, self, word,
                BankWalk(
                    ring, mac, member, rings, macs, pointer, item, flood_all, same_rest, wanted, counts, kept, place,
                    bases,
                ),
            )  # fmt: skip
            with m.State("END"):
                m.d.comb += self.done.eq(1)
                m.next = "IDLE"
        return m
