"""From buffers to the data ports: a frame as it came, or a result. A result is the kept header of a packet, the sum,
and a new iCRC, which is computed as the beats pass (`switch_nodes/netreduce/results.py`)."""

from __future__ import annotations

from amaranth.hdl import Array, Cat, Const, Elaboratable, Module, Mux, Signal, Value

from switch_nodes.fpga.rtl.crc import ICRC_START, absorbed, retreated
from switch_nodes.fpga.rtl.headers import icrc_masked
from switch_nodes.fpga.rtl.naming import name_signals
from switch_nodes.fpga.rtl.parameters import HEADER_BYTES, RtlParameters
from switch_nodes.fpga.rtl.plants import Plants
from workloads.wire.places import CHECKSUM_AT, TOS_AT, TTL_AT, UDP_CHECKSUM6_AT, UDP_CHECKSUM_AT

__all__ = ["Emitter"]

_ICRC = 4
_V4_CHECKSUM, _V4_UDP_CHECKSUM, _V6_UDP_CHECKSUM = CHECKSUM_AT, UDP_CHECKSUM_AT, UDP_CHECKSUM6_AT
_TOS, _TTL = TOS_AT, TTL_AT


class Emitter(Elaboratable):
    """`start` with the fields below begins a frame; `done` is high in the cycle of its last beat.

    `raw`: `length` bytes of the frame buffer. Else a result: `header_bytes` of the header, `length` bytes of the value.
    `mark`: both ECN bits are set, with `checksum` as IPv4 checksum. The words at `word_header`, `word_value`,
    `word_frame` are to be shown one cycle after a cycle with `advance` (as `Ram` does)."""

    def __init__(self, p: RtlParameters, plants: Plants | None = None) -> None:
        self.p, self._plants = p, plants or Plants()
        ports = max(p.ports, 2)
        self.start, self.done, self.active = Signal(), Signal(), Signal()
        self.raw, self.port = Signal(), Signal(range(ports))
        self.length, self.header_bytes = Signal(17), Signal(8)
        self.is_ipv6, self.mark, self.checksum = Signal(), Signal(), Signal(16)
        self.word_header = Signal(range(HEADER_BYTES // p.beat))
        self.word_value = Signal(range(p.payload_words))
        self.word_frame = Signal(range(p.frame_words))
        self.advance = Signal()
        self.header, self.value, self.frame = Signal(p.width), Signal(p.width), Signal(p.width)
        self.valid, self.ready, self.last = Signal(p.ports), Signal(p.ports), Signal(p.ports)
        self.data, self.keep = Signal(p.width), Signal(p.beat)
        """one beat for all ports: only one has `valid`"""
        name_signals(self)

    def elaborate(self, platform: object) -> Module:
        p, m = self.p, Module()
        size, lane_bits = p.beat, (p.beat - 1).bit_length()
        covered = Signal(17)
        m.d.comb += covered.eq(Mux(self.raw, self.length, self.header_bytes + self.length))
        final_beat, final_bytes = Signal(17), Signal(range(size + 1))
        m.d.comb += [
            final_beat.eq((covered - 1) >> lane_bits), final_bytes.eq(((covered - 1)[0:lane_bits]) + 1),
        ]  # fmt: skip
        header_beats, shift = self.header_bytes[lane_bits:], self.header_bytes[0:lane_bits]
        advance = self.advance

        # Stage 0: addresses.
        issue, issuing = Signal(17), Signal()
        m.d.comb += [
            self.word_header.eq(issue), self.word_frame.eq(issue), self.word_value.eq(issue - header_beats),
        ]  # fmt: skip
        with m.If(self.start):
            m.d.sync += [issue.eq(0), issuing.eq(1), self.active.eq(1)]
        with m.Elif(advance & issuing):
            m.d.sync += issue.eq(issue + 1)
            with m.If(issue == final_beat):
                m.d.sync += issuing.eq(0)

        # Stage 1: the words are there; one beat is put together.
        number1, valid1 = Signal(17), Signal()
        before = Signal(p.width)
        with m.If(advance):
            m.d.sync += [number1.eq(issue), valid1.eq(issuing)]
            with m.If(valid1):
                m.d.sync += before.eq(self.value)
        low, joined = Signal(p.width), Signal(p.width)
        m.d.comb += low.eq(Mux(number1 == header_beats, self.header, self._behind(before, shift)))
        m.d.comb += joined.eq(self._joined(low, self.value, shift))
        beat1 = Signal(p.width)
        m.d.comb += beat1.eq(Mux(self.raw, self.frame, Mux(number1 < header_beats, self.header, joined)))

        # Stage 2: what a switch changes; the CRC.
        number2, valid2, beat2 = Signal(17), Signal(), Signal(p.width)
        with m.If(advance):
            m.d.sync += [number2.eq(number1), valid2.eq(valid1), beat2.eq(beat1)]
        is_final2 = number2 == final_beat
        clean = Signal(p.width)
        m.d.comb += clean.eq(
            Cat(Mux(is_final2 & (final_bytes <= lane), 0, self._changed(beat2, lane, number2)) for lane in range(size))
        )
        crc = Signal(32, init=ICRC_START)
        masked = icrc_masked(clean, number2, self.is_ipv6)
        ttl_here = self._plants["icrc-wrong-byte"] & (number2 == _TTL // size)
        masked = masked ^ Mux(ttl_here, Const(1 << 8 * (_TTL % size), p.width), 0)
        # Masked bytes beyond the end must stay zeros: all of them lie in the headers, which every result has.
        after = absorbed(m, crc, masked)
        with m.If(self.start):
            m.d.sync += crc.eq(ICRC_START)
        with m.Elif(advance & valid2):
            m.d.sync += crc.eq(after)

        # Stage 3: the iCRC behind the last byte; out.
        valid3, final3, beat3 = Signal(), Signal(), Signal(p.width)
        with m.If(advance):
            m.d.sync += [valid3.eq(valid2), final3.eq(is_final2), beat3.eq(clean)]
        icrc = Signal(32)
        ends = final_bytes[0:lane_bits]
        before_zeros = {number: retreated(m, crc, size - number) for number in range(2, size, 4)}
        m.d.comb += icrc.eq(~self._select(ends, [before_zeros[number // 4 * 4 + 2] for number in range(size)]))
        tail = Signal()
        total = Signal(range(size + _ICRC + 1))
        m.d.comb += total.eq(final_bytes + Mux(self.raw, 0, _ICRC))
        spills = total > size
        behind = Signal(range(_ICRC + 1))
        m.d.comb += behind.eq(total - size)
        whole = Signal(p.width + 8 * _ICRC)
        placed = self._select(ends, [Cat(beat3[: 8 * number], icrc) for number in range(size)])
        m.d.comb += whole.eq(Mux(self.raw, beat3, placed))
        beat_out, keep_out, last_out, valid_out = Signal(p.width), Signal(p.beat), Signal(), Signal()
        m.d.comb += [
            valid_out.eq(valid3), beat_out.eq(beat3), keep_out.eq(~Const(0, size)), last_out.eq(final3 & ~spills),
        ]  # fmt: skip
        with m.If(final3):
            m.d.comb += beat_out.eq(whole)
            with m.If(~spills):
                m.d.comb += keep_out.eq(self._kept(total))
        with m.If(tail):
            m.d.comb += [
                valid_out.eq(1), beat_out.eq(whole[p.width :]), last_out.eq(1), keep_out.eq(self._kept(behind)),
            ]  # fmt: skip
        ready = self.ready.bit_select(self.port, 1)
        m.d.comb += [
            self.data.eq(beat_out), self.keep.eq(keep_out),
            self.valid.eq(Mux(valid_out, Const(1, p.ports) << self.port, 0)),
            self.last.eq(Mux(valid_out & last_out, Const(1, p.ports) << self.port, 0)),
            # Nothing moves while the last beat stands still, or its rest is to come.
            advance.eq(~valid_out | (ready & ~(final3 & valid3))),
        ]  # fmt: skip
        with m.If(self._plants["stall-ignored"]):
            m.d.comb += advance.eq(~(final3 & valid3))
        with m.If(valid_out & ready & final3):
            with m.If(spills & ~tail):
                m.d.sync += tail.eq(1)
            with m.Else():
                m.d.sync += [tail.eq(0), valid3.eq(0), final3.eq(0), self.active.eq(0)]
                m.d.comb += self.done.eq(1)
        return m

    def _behind(self, word: Value, shift: Value) -> Value:
        """The last `shift` bytes of a word, at its begin."""
        return self._select(shift, [word[self.p.width - 8 * n :] for n in range(self.p.beat)])

    def _joined(self, low: Value, word: Value, shift: Value) -> Value:
        """`shift` bytes of `low`, then the first bytes of `word`."""
        width = self.p.width
        choices = [Cat(low[: 8 * n], word[: width - 8 * n]) for n in range(self.p.beat)]
        return self._select(shift, choices)

    def _select(self, shift: Value, choices: list[Value]) -> Value:
        """Headers end two bytes behind a multiple of four."""
        return Array(choices[n // 4 * 4 + 2] for n in range(self.p.beat))[shift]

    def _changed(self, beat: Value, lane: int, number: Value) -> Value:
        """Byte `lane` of a beat as it leaves."""
        byte, size = beat[8 * lane : 8 * lane + 8], self.p.beat
        result = ~self.raw
        for at, condition, value in (
            (_TOS, self.mark & ~self.is_ipv6, byte | 3),
            (_TOS, self.mark & self.is_ipv6, byte | 0x30),
            (_V4_CHECKSUM, self.mark & ~self.is_ipv6, self.checksum[8:16]),
            (_V4_CHECKSUM + 1, self.mark & ~self.is_ipv6, self.checksum[0:8]),
            (_V4_UDP_CHECKSUM, ~self.is_ipv6, 0),
            (_V4_UDP_CHECKSUM + 1, ~self.is_ipv6, 0),
            (_V6_UDP_CHECKSUM, self.is_ipv6, 0),
            (_V6_UDP_CHECKSUM + 1, self.is_ipv6, 0),
        ):  # fmt: skip
            if at % size == lane:
                byte = Mux(result & condition & (number == at // size), value, byte)
        return byte[0:8]

    def _kept(self, count: Value) -> Value:
        return Cat(count > lane for lane in range(self.p.beat))
