"""APPLY: the staged bank is checked, then becomes the active one between two frames, or nothing changes.

Rule 1: every word has a range (`_checks`); a word outside ends APPLY with REFUSED_VALUE and its address.
Rule 2: where only rings differ, a ring with the same words keeps its context: its slots and connections.
Rule 3: a new ring gets a free context, and the first range of free slots that it fits in.
Rule 4: the engine waits only while contexts are written.
"""

from __future__ import annotations

from dataclasses import dataclass

from amaranth.hdl import Array, Cat, Const, Elaboratable, Module, Mux, Signal

from switch_nodes.fpga.regmap import DTYPES, GATES, OPS, REGISTERS, RELEASES, Failure
from switch_nodes.fpga.rtl.banks import BankMap, field_word
from switch_nodes.fpga.rtl.memory import Ram
from switch_nodes.fpga.rtl.naming import name_signals
from switch_nodes.fpga.rtl.parameters import RtlParameters
from switch_nodes.fpga.rtl.plants import Plants

__all__ = ["Applier", "RingContext"]

_GENERAL, _MAC, _RING, _MEMBER = range(4)
_NOWHERE = 0xFFFFFFFF


@dataclass(frozen=True, slots=True)
class _Check:
    word: int
    low: int = 0
    high: int = 0
    choices: tuple[int, ...] = ()
    is_index: bool = False
    """the word is the number of its record"""


def _checks(p: RtlParameters) -> dict[int, list[_Check]]:
    """What each word must be, by section; the last general ones are the numbers of MACs and rings."""
    ports = (1 << p.ports) - 1
    mtus = tuple(mtu for mtu in (256, 512, 1024, 2048, 4096) if mtu <= p.mtu)

    def of(name: str, low: int, high: int) -> _Check:
        return _Check(field_word(name), low, high)

    return {
        _GENERAL: [
            of("RELEASE", 0, len(RELEASES) - 1), of("GATE", 0, len(GATES) - 1), of("HAIRPIN", 0, 1),
            of("FLOOD_ALL", 0, 1), of("FLOOD_PORTS", 0, ports & 0xFFFFFFFF),
            _Check(field_word("FLOOD_PORTS") + 1, 0, ports >> 32), of("MAC_COUNT", 0, p.macs),
            of("RING_COUNT", 0, p.rings),
        ],
        _MAC: [of("MAC_HIGH", 0, 0xFFFF), of("MAC_PORT", 0, p.ports - 1)],
        _RING: [
            _Check(field_word("RING_FAMILY"), choices=(4, 6)), of("RING_ROLE", 0, 0),
            of("RING_MEMBERS", 2, p.members), of("RING_ID", 0, 0xFFFF), of("RING_OP", 0, len(OPS) - 1),
            of("RING_DTYPE", 0 if p.floats else 1, len(DTYPES) - 1), of("RING_WINDOW", 1, p.window),
            of("RING_PACKETS", 1, 0xFFFF), _Check(field_word("RING_PATH_MTU"), choices=mtus),
        ],
        _MEMBER: [
            _Check(field_word("MEMBER_RANK"), is_index=True), of("MEMBER_PORT", 0, p.ports - 1),
        ],
    }  # fmt: skip


class RingContext:
    """What the engine knows of one installed ring, as registers."""

    def __init__(self, p: RtlParameters, number: int) -> None:
        def make(name: str, shape: int | range) -> Signal:
            return Signal(shape, name=f"ring{number}_{name}")

        self.id, self.op, self.dtype = make("id", 16), make("op", 4), make("dtype", 4)
        self.packets, self.window = make("packets", 16), make("window", 4)
        self.mtu, self.members, self.family = make("mtu", 13), make("members", range(p.members + 1)), make("family", 3)
        self.base, self.slots = make("base", range(p.slots)), make("slots", range(p.slots + 1))

    def fields(self) -> tuple[Signal, ...]:
        return (
            self.id, self.op, self.dtype, self.packets, self.window, self.mtu, self.members, self.family, self.base,
            self.slots,
        )  # fmt: skip


class Applier(Elaboratable):
    """`start`; `done` for one cycle at the end, with `failure` and `address`. `hold`: the engine must not begin a
    frame; `held`: it is between two. `init`: it must empty context `context`, until `init_done`; `forget`: all that
    was learnt. `discard` clears the staged bank, `reset` both.

    `staged`, `active`: memories of the banks. `rings`: the contexts; `order`, `ring_count`: those in use."""

    def __init__(self, p: RtlParameters, plants: Plants | None = None, *, verilog: bool = True) -> None:
        self.p, self.map, self._plants = p, BankMap(p), plants or Plants()
        self.start, self.discard, self.reset = Signal(), Signal(), Signal()
        self.done, self.busy = Signal(), Signal()
        self.failure, self.address = Signal(5), Signal(32)
        self.hold, self.held, self.init, self.init_done, self.forget = (Signal() for _ in range(5))
        ring = range(max(p.rings, 2))
        self.context = Signal(ring)
        self.rings = [RingContext(p, number) for number in range(p.rings)]
        self.order = [Signal(ring, name=f"order{number}") for number in range(p.rings)]
        self.ring_count, self.mac_count = Signal(range(p.rings + 1)), Signal(range(p.macs + 1))
        self.asap, self.gated, self.hairpin = Signal(), Signal(), Signal()
        self.flood = Signal(p.ports)
        self.staged = Ram(32, self.map.words, verilog=verilog)
        self.active = Ram(32, self.map.words, verilog=verilog)
        self.member_ram = Ram(134, p.rings * p.members, verilog=verilog)
        """address (ring, member); port in the upper 6 bits, IP below, its bytes in the order of the wire"""
        self.mac_ram = Ram(54, p.macs, verilog=verilog)
        """port in the upper 6 bits, MAC below, its bytes in the order of the wire"""
        self.bus_index, self.bus_write, self.bus_data = Signal(range(self.map.words)), Signal(), Signal(32)
        """the bus, while not `busy`"""
        self.members_addr, self.macs_addr = Signal(range(p.rings * p.members)), Signal(range(max(p.macs, 2)))
        name_signals(self)

    def elaborate(self, platform: object) -> Module:
        p, m, bank = self.p, Module(), self.map
        m.submodules.staged, m.submodules.active = self.staged, self.active
        m.submodules.members, m.submodules.macs = self.member_ram, self.mac_ram
        staged, active = self.staged, self.active
        checks = _checks(p)
        word = staged.r_data
        section, item = Signal(2), Signal(range(16))
        ring_bits = range(max(p.rings, 2))
        ring, mac, member = Signal(ring_bits), Signal(range(max(p.macs, 2))), Signal(range(p.members))
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
        other = Signal(ring_bits)
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
        first = Mux(section == _MAC, mac, ring)

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
                m.d.sync += [section.eq(_GENERAL), item.eq(0), mac.eq(0), ring.eq(0), member.eq(0), total.eq(0)]
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
                with m.If(section == _GENERAL), m.Switch(check_word):
                    with m.Case(field_word("MAC_COUNT")):
                        m.d.sync += macs.eq(word)
                    with m.Case(field_word("RING_COUNT")):
                        m.d.sync += rings.eq(word)
                with m.If(section == _RING):
                    for name in ("id", "packets", "window", "members"):
                        with m.If(check_word == field_word(f"RING_{name.upper()}")):
                            for number, shape in enumerate(shapes):
                                with m.If(ring == number):
                                    m.d.sync += getattr(shape, name).eq(word)
                is_bad = Mux(one_of, ~chosen_well, Mux(is_index, word != member, (word < low) | (word > high)))
                # FLOOD_PORTS means nothing while FLOOD_ALL is set.
                is_flood = (section == _GENERAL) & (
                    (check_word == field_word("FLOOD_PORTS")) | (check_word == field_word("FLOOD_PORTS") + 1)
                )
                with m.If((section == _GENERAL) & (check_word == field_word("FLOOD_ALL"))):
                    m.d.sync += flood_all.eq(word[0])
                with m.If(is_bad & ~(is_flood & flood_all)):
                    refuse(bank.address(section, first, member, check_word))
                with m.Elif(item + 1 == lengths[section]):
                    m.next = "CHECKED"
            with m.State("CHECKED"):  # a record is good: to the next one
                m.d.sync += item.eq(0)
                m.next = "CHECK_READ"
                with m.Switch(section):
                    with m.Case(_GENERAL):
                        with m.If(macs != 0):
                            m.d.sync += section.eq(_MAC)
                        with m.Elif(rings != 0):
                            m.d.sync += section.eq(_RING)
                        with m.Else():
                            m.next = "COMPARE_REST"
                    with m.Case(_MAC):
                        m.d.sync += mac.eq(mac + 1)
                        with m.If(mac + 1 == macs):
                            m.d.sync += section.eq(_RING)
                            with m.If(rings == 0):
                                m.next = "COMPARE_REST"
                    with m.Case(_RING):
                        m.d.sync += [section.eq(_MEMBER), member.eq(0)]
                        m.next = "RING_CHECKED"
                    with m.Case(_MEMBER):
                        m.d.sync += member.eq(member + 1)
                        with m.If(member + 1 == counts[ring]):
                            m.d.sync += [section.eq(_RING), ring.eq(ring + 1)]
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

            # Rule 4.
            with m.State("HOLD"):
                m.d.comb += self.hold.eq(1)
                m.d.sync += [pointer.eq(0), item.eq(0), member.eq(0), mac.eq(0)]
                with m.If(self.held):
                    m.d.comb += self.forget.eq(~same_rest)
                    m.next = "GENERAL_READ"
            with m.State("GENERAL_READ"):
                m.d.comb += [self.hold.eq(1), staged.r_addr.eq(pointer)]
                m.next = "GENERAL"
            with m.State("GENERAL"):
                m.d.comb += self.hold.eq(1)
                m.d.sync += pointer.eq(pointer + 1)
                m.next = "GENERAL_READ"
                with m.Switch(pointer):
                    with m.Case(field_word("RELEASE")):
                        m.d.sync += self.asap.eq(word[0])
                    with m.Case(field_word("GATE")):
                        m.d.sync += self.gated.eq(word[0])
                    with m.Case(field_word("HAIRPIN")):
                        m.d.sync += self.hairpin.eq(word[0])
                    with m.Case(field_word("FLOOD_PORTS")):
                        m.d.sync += self.flood[0:32].eq(Mux(flood_all, Const(_NOWHERE, 32), word))
                    if p.ports > 32:
                        with m.Case(field_word("FLOOD_PORTS") + 1):
                            m.d.sync += self.flood[32:].eq(Mux(flood_all, Const(_NOWHERE, 32), word))
                    with m.Case(field_word("RING_COUNT")):
                        m.d.sync += [pointer.eq(0), self.mac_count.eq(macs), self.ring_count.eq(rings)]
                        m.next = "MACS_READ"
            with m.State("MACS_READ"):
                m.d.comb += [self.hold.eq(1), staged.r_addr.eq(bank.mac(mac, pointer))]
                m.next = "MACS"
                with m.If(mac == macs):
                    m.next = "INSTALL"
            mac_high, mac_low = Signal(16), Signal(32)
            with m.State("MACS"):
                m.d.comb += [
                    self.hold.eq(1), self.mac_ram.w_addr.eq(mac),
                    self.mac_ram.w_data.eq(
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
                    m.d.comb += self.mac_ram.w_en.eq(1)
                    m.d.sync += [pointer.eq(0), mac.eq(mac + 1)]
            with m.State("INSTALL"):
                m.d.comb += self.hold.eq(1)
                m.d.sync += [pointer.eq(0), member.eq(0), self.context.eq(Array(place)[ring])]
                with m.If(ring == rings):
                    m.d.sync += pointer.eq(0)
                    m.next = "COPY_READ"
                with m.Else():
                    for number in range(p.rings):
                        with m.If(ring == number):
                            m.d.sync += self.order[number].eq(place[number])
                    with m.If(Array(kept)[ring]):
                        m.d.sync += ring.eq(ring + 1)
                    with m.Else():
                        m.next = "RING_READ"
            with m.State("RING_READ"):
                m.d.comb += [self.hold.eq(1), staged.r_addr.eq(bank.ring(ring, pointer))]
                m.next = "RING_WORD"
            with m.State("RING_WORD"):
                m.d.comb += self.hold.eq(1)
                m.d.sync += pointer.eq(pointer + 1)
                m.next = "RING_READ"
                for number, context in enumerate(self.rings):
                    with m.If(self.context == number):
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
                m.d.comb += [self.hold.eq(1), staged.r_addr.eq(bank.member(ring, member, pointer))]
                m.next = "MEMBER_WORD"
            with m.State("MEMBER_WORD"):
                swapped = Cat(word[24:32], word[16:24], word[8:16], word[0:8])
                m.d.comb += [
                    self.hold.eq(1), self.member_ram.w_addr.eq(self.context * p.members + member),
                    self.member_ram.w_data.eq(Cat(ip[0:96], swapped, port)),
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
                        m.d.comb += self.member_ram.w_en.eq(1)
                        m.d.sync += [pointer.eq(1), member.eq(member + 1)]
                        with m.If(member + 1 == counts[ring]):
                            m.next = "INIT"
            with m.State("INIT"):
                m.d.comb += [self.hold.eq(1), self.init.eq(1)]
                with m.If(self.init_done):
                    m.d.sync += ring.eq(ring + 1)
                    m.next = "INSTALL"

            with m.State("COPY_READ"):
                m.d.comb += staged.r_addr.eq(pointer)
                m.next = "COPY"
            with m.State("COPY"):
                torn = self._plants["bank-torn"] & (pointer[0:3] == 3)
                m.d.comb += [active.w_en.eq(~torn), active.w_addr.eq(pointer)]
                m.d.sync += pointer.eq(pointer + 1)
                m.next = "COPY_READ"
                with m.If(pointer == bank.words - 1):
                    m.next = "END"
            with m.State("END"):
                m.d.comb += self.done.eq(1)
                m.next = "IDLE"
        return m
