"""From the data ports to whole frames: one frame after the other goes into one of two buffers, while the engine works
on the other. The iCRC is checked as the beats pass.

Rule 1: a port keeps its turn until the last beat of its frame. Rule 2: a frame is offered to the engine when its last
beat is in. Rule 3: ports wait (their `ready` is low) while both buffers are full. No beat is lost. Rule 4: of a frame
that is longer than a buffer, only the length counts.
"""

from __future__ import annotations

from amaranth.hdl import Array, Cat, Const, Elaboratable, Module, Mux, Signal

from switch_nodes.fpga.rtl.crc import ICRC_START, VALID_RESIDUE, absorbed, advance
from switch_nodes.fpga.rtl.headers import icrc_masked
from switch_nodes.fpga.rtl.memory import Ram
from switch_nodes.fpga.rtl.naming import name_signals
from switch_nodes.fpga.rtl.parameters import HEADER_BYTES, RtlParameters
from switch_nodes.fpga.rtl.plants import Plants

__all__ = ["Ingress"]

_V6_EXTRA = 40


class Ingress(Elaboratable):
    """AXI4-Stream in: `valid`, `ready`, `last`, one bit per port; `data`, `keep`, one beat per port, port 0 lowest.

    To the engine, while `full`: `port`, `length` (bytes), `header` (its first 128 bytes), `intact` (the iCRC is right,
    if it is RoCE), `cut` (its iCRC is the complement of the right one), `too_long`. `release` gives the buffer back.
    Words of the frame: `r_addr`, `r_en`, `r_data`."""

    def __init__(self, p: RtlParameters, plants: Plants | None = None, *, verilog: bool = True) -> None:
        self.p, self._plants = p, plants or Plants()
        self.valid, self.ready, self.last = Signal(p.ports), Signal(p.ports), Signal(p.ports)
        self.data, self.keep = Signal(p.ports * p.width), Signal(p.ports * p.beat)
        self.full, self.release = Signal(), Signal()
        self.port = Signal(range(max(p.ports, 2)))
        self.length, self.header = Signal(17), Signal(8 * HEADER_BYTES)
        self.intact, self.cut, self.too_long = Signal(), Signal(), Signal()
        self.busy = Signal()
        """a frame is under way"""
        self._ram = Ram(p.width, 2 * p.frame_words, verilog=verilog)
        self.r_addr, self.r_en = Signal(range(p.frame_words)), Signal(init=1)
        self.r_data = self._ram.r_data
        name_signals(self)

    def elaborate(self, platform: object) -> Module:
        p, m = self.p, Module()
        m.submodules.ram = ram = self._ram
        plants = self._plants
        filling, reading = Signal(), Signal()
        full = Signal(2)
        locked, owner = Signal(), Signal(range(max(p.ports, 2)))
        words_in = Array(self.data.word_select(port, p.width) for port in range(p.ports))
        keeps = Array(self.keep.word_select(port, p.beat) for port in range(p.ports))
        data, keep, beat = Signal(p.width), Signal(p.beat), Signal(17)
        valid, last = Signal(), Signal()
        room = ~full.bit_select(filling, 1)
        m.d.comb += [
            data.eq(words_in[owner]), keep.eq(keeps[owner]),
            valid.eq(locked & self.valid.bit_select(owner, 1)), last.eq(self.last.bit_select(owner, 1)),
            self.busy.eq(locked),
        ]  # fmt: skip
        take = Signal()
        lost = plants["beat-dropped"] & full.any() & (beat == 3)
        was_lost = Signal()
        m.d.sync += was_lost.eq(lost & valid & room & ~was_lost)
        m.d.comb += take.eq(valid & room & (~lost | was_lost))
        ready = locked & room
        m.d.comb += self.ready.eq(Mux(ready, Const(1, p.ports) << owner, 0))
        with m.If(~locked & room):
            for port in reversed(range(p.ports)):
                with m.If(self.valid[port]):
                    m.d.sync += [locked.eq(1), owner.eq(port)]
            # Ports behind the newest one first: no port can keep the others out.
            for port in reversed(range(p.ports)):
                with m.If(self.valid[port] & (port > owner)):
                    m.d.sync += [locked.eq(1), owner.eq(port)]

        count, bytes_before = Signal(range(p.beat + 1)), Signal(17)
        ones = Signal.like(count)
        m.d.comb += ones.eq(p.beat)
        for number in reversed(range(p.beat)):
            with m.If(~keep[number]):
                m.d.comb += ones.eq(number)
        counted = Mux(plants["keep-ignored"], p.beat, ones)
        m.d.comb += [count.eq(Mux(last, counted, p.beat)), bytes_before.eq(beat * p.beat)]
        length = Signal(17)
        m.d.comb += length.eq(bytes_before + count)

        # The header and what of it the iCRC needs, with this very beat.
        headers = [Signal(8 * HEADER_BYTES, name=f"header_{number}") for number in range(2)]
        known = Signal(8 * 24)
        beats = HEADER_BYTES // p.beat
        for number in range(beats):
            with m.If(take & (beat == number)):
                for buffer, kept in enumerate(headers):
                    with m.If(filling == buffer):
                        m.d.sync += kept.word_select(number, p.width).eq(data)
        kept = Mux(filling, headers[1], headers[0])
        for at in range(24):
            number, lane = divmod(at, p.beat)
            m.d.comb += known[8 * at : 8 * at + 8].eq(
                Mux(beat == number, data[8 * lane : 8 * lane + 8], kept[8 * at : 8 * at + 8])
            )
        is_ipv6 = Signal()
        early = beat < -(-16 // p.beat) - 1
        m.d.comb += is_ipv6.eq((known[96:112] == 0xDD86) & ~early)
        end = Signal(17)
        v4_end, v6_end = Cat(known[136:144], known[128:136]) + 14, Cat(known[152:160], known[144:152]) + 14 + _V6_EXTRA
        m.d.comb += end.eq(Mux(bytes_before < 16 if p.width == 64 else 0, 0x1FFFF, Mux(is_ipv6, v6_end, v4_end)))

        crc, after = Signal(32, init=ICRC_START), Signal(32)
        masked = Signal(p.width)
        m.d.comb += masked.eq(icrc_masked(data, beat, is_ipv6))
        covered = Cat(Mux(bytes_before + lane < end, masked[8 * lane : 8 * lane + 8], 0) for lane in range(p.beat))
        m.d.comb += after.eq(Mux(bytes_before < end, absorbed(m, crc, covered), crc))
        zeros = Signal(range(p.beat))
        m.d.comb += zeros.eq((0 - end)[0 : len(zeros)])
        residues = Array(Const(advance(VALID_RESIDUE, bytes(number)), 32) for number in range(p.beat))

        m.d.comb += [
            ram.w_en.eq(take & (beat < p.frame_words)), ram.w_data.eq(data),
            ram.w_addr.eq(Cat(beat[0 : len(self.r_addr)], filling)),
            ram.r_addr.eq(Cat(self.r_addr, reading)), ram.r_en.eq(self.r_en),
        ]  # fmt: skip
        notes = [
            (self.port, owner), (self.length, length),
            (self.intact, (after == residues[zeros]) | plants["icrc-ignored"]),
            (self.cut, after == 0), (self.too_long, beat >= p.frame_words),
        ]  # fmt: skip
        stored = []
        for signal, _ in notes:
            each = [Signal(signal.shape(), name=f"{signal.name}_{number}") for number in range(2)]
            stored.append(each)
            m.d.comb += signal.eq(Mux(reading, each[1], each[0]))
        with m.If(take):
            m.d.sync += [beat.eq(beat + 1), crc.eq(after)]
            with m.If(last):
                m.d.sync += [beat.eq(0), crc.eq(ICRC_START), locked.eq(0), filling.eq(~filling)]
                m.d.sync += full.bit_select(filling, 1).eq(1)
                for (_, seen), each in zip(notes, stored, strict=True):
                    for buffer in range(2):
                        with m.If(filling == buffer):
                            m.d.sync += each[buffer].eq(seen)
        m.d.comb += [self.full.eq(full.bit_select(reading, 1)), self.header.eq(Mux(reading, headers[1], headers[0]))]
        with m.If(self.release):
            m.d.sync += [full.bit_select(reading, 1).eq(0), reading.eq(~reading)]
        return m
