"""float32 in logic: IEEE 754 addition, rounded to nearest even, subnormals kept, in four stages; and `maximum`."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Elaboratable, Module, Mux, Signal, Value

from switch_nodes.fpga.rtl.naming import name_signals
from switch_nodes.fpga.rtl.plants import Plants
from workloads.collectives.arithmetic import CANONICAL_NAN

__all__ = ["STAGES", "FloatAdder", "float_max"]

STAGES = 4
_FRACTION, _EXPONENT = 23, 8
_GUARD = 3
"""guard, round and sticky bits below the last place"""
_WIDE = _FRACTION + 1 + _GUARD
_INFINITE = 0xFF


def _is_nan(bits: Value) -> Value:
    return (bits[23:31] == _INFINITE) & bits[0:23].any()


def float_max(a: Value, b: Value) -> Value:
    """IEEE 754-2019 `maximum`: a NaN wins, and is 0x7fc00000; +0 is above -0."""
    keys = [(bits ^ Mux(bits[31], Const(0x7FFFFFFF, 32), 0))[0:32].as_signed() for bits in (a, b)]
    return Mux(_is_nan(a) | _is_nan(b), CANONICAL_NAN, Mux(keys[0] > keys[1], a, b))


class FloatAdder(Elaboratable):
    """`result` is a + b of STAGES cycles before. Every NaN comes out as 0x7fc00000."""

    def __init__(self, plants: Plants | None = None) -> None:
        self._plants = plants or Plants()
        self.a, self.b, self.result = Signal(32), Signal(32), Signal(32)
        name_signals(self)

    def elaborate(self, platform: object) -> Module:
        m = Module()

        # Stage 1: the larger magnitude first; special values.
        swap = self.b[0:31] > self.a[0:31]
        large, small = Mux(swap, self.b, self.a), Mux(swap, self.a, self.b)
        negative, subtract = Signal(), Signal()
        exponent, gap = Signal(_EXPONENT), Signal(_EXPONENT)
        big, little = Signal(_FRACTION + 1), Signal(_FRACTION + 1)
        is_nan, is_infinite = Signal(), Signal()
        both_negative = self.a[31] & self.b[31]
        # A subnormal number has the exponent of the smallest normal ones, and no hidden one.
        high, low = large[23:31], small[23:31]
        e_high, e_low = Mux(high == 0, 1, high), Mux(low == 0, 1, low)
        infinite = [bits[23:31] == _INFINITE for bits in (self.a, self.b)]
        m.d.sync += [
            negative.eq(large[31]), subtract.eq(self.a[31] ^ self.b[31]), exponent.eq(e_high), gap.eq(e_high - e_low),
            big.eq(Cat(large[0:23], high != 0)), little.eq(Cat(small[0:23], low != 0)),
            is_nan.eq(_is_nan(self.a) | _is_nan(self.b) | (infinite[0] & infinite[1] & (self.a[31] ^ self.b[31]))),
            is_infinite.eq(infinite[0] | infinite[1]),
        ]  # fmt: skip
        zero_sign = Signal()
        m.d.sync += zero_sign.eq(both_negative)

        # Stage 2: align, add or subtract.
        shifted = Signal(_WIDE)
        wide = Cat(Const(0, _GUARD), little)
        amount = Mux(gap > _WIDE, _WIDE, gap)[0:5]
        moved = Signal(_WIDE)
        m.d.comb += moved.eq(wide >> amount)
        lost = Signal()
        m.d.comb += lost.eq((moved << amount)[0:_WIDE] != wide)
        sticky = lost & ~self._plants["float-truncates"]
        m.d.comb += shifted.eq(Cat(moved[0] | sticky, moved[1:]))
        total = Signal(_WIDE + 1)
        aligned = Cat(Const(0, _GUARD), big)
        negative2, nan2, infinite2, zero2 = (Signal() for _ in range(4))
        exponent2 = Signal(_EXPONENT)
        m.d.sync += [
            total.eq(Mux(subtract, aligned - shifted, aligned + shifted)), negative2.eq(negative),
            exponent2.eq(exponent), nan2.eq(is_nan), infinite2.eq(is_infinite), zero2.eq(zero_sign),
        ]  # fmt: skip

        # Stage 3: normalise. No further left than the exponent of subnormal numbers allows.
        zeros = Signal(5)
        m.d.comb += zeros.eq(_WIDE)
        for at in range(_WIDE):
            with m.If(total[at]):
                m.d.comb += zeros.eq(_WIDE - 1 - at)
        room = (exponent2 - 1)[0:_EXPONENT]
        left = Mux(zeros > room, room, zeros)[0:5]
        normal, exponent3 = Signal(_WIDE), Signal(_EXPONENT + 1)
        negative3, nan3, infinite3, zero3, nothing = (Signal() for _ in range(5))
        with m.If(total[_WIDE]):
            m.d.sync += [
                normal.eq(Cat(total[1] | total[0], total[2:])), exponent3.eq(exponent2 + 1),
            ]  # fmt: skip
        with m.Else():
            m.d.sync += [normal.eq(total << left), exponent3.eq(exponent2 - left)]
        m.d.sync += [
            negative3.eq(negative2),
            nan3.eq(nan2),
            infinite3.eq(infinite2),
            zero3.eq(zero2),
            nothing.eq(total == 0),
        ]

        # Stage 4: round to nearest, ties to even; pack.
        up = normal[2] & (normal[1] | normal[0] | normal[3] | self._plants["float-rounds-up"])
        hidden = normal[_WIDE - 1]
        fraction = Signal(_FRACTION + _EXPONENT + 2)
        stored = Mux(hidden, exponent3, 0)
        m.d.comb += fraction.eq(Cat(normal[_GUARD : _WIDE - 1], stored) + up)  # a carry moves on into the exponent
        overflow = fraction[23:] >= _INFINITE
        with m.If(nan3):
            m.d.sync += self.result.eq(CANONICAL_NAN)
        with m.Elif(infinite3 | (overflow & ~nothing)):
            m.d.sync += self.result.eq(Cat(Const(0, 23), Const(_INFINITE, 8), negative3))
        with m.Elif(nothing):
            m.d.sync += self.result.eq(Cat(Const(0, 31), zero3))
        with m.Else():
            m.d.sync += self.result.eq(Cat(fraction[0:31], negative3))
        return m
