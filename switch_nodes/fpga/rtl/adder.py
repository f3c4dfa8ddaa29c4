"""Adder lanes: one step of the fold of a slot (`workloads/collectives/arithmetic.py`).

An accumulator has 40 bits, so that int32sat is exact for 64 members before it is clamped once. float32 and all others
use the lower 32. float32 takes four stages (`FloatAdder`); the others wait for it.
"""

from __future__ import annotations

from amaranth.hdl import Elaboratable, Module, Mux, Signal, Value

from switch_nodes.fpga.rtl.floats import FloatAdder, float_max
from switch_nodes.fpga.rtl.naming import name_signals
from switch_nodes.fpga.rtl.plants import Plants
from workloads.collectives.arithmetic import CANONICAL_NAN
from workloads.collectives.ina_header import DTYPE_CODES, OP_CODES

__all__ = ["ACCUMULATOR_BITS", "LATENCY", "AdderLane"]

ACCUMULATOR_BITS = 40
LATENCY = 5
"""cycles from `value` and `element` to `result`"""
_SUM, _MAX, _XOR = OP_CODES["sum"], OP_CODES["max"], OP_CODES["xor"]
_FLOAT, _SATURATING = DTYPE_CODES["float32"], DTYPE_CODES["int32sat"]
_LEAST, _MOST = -(1 << 31), (1 << 31) - 1


class AdderLane(Elaboratable):
    """`result` is that of `value` (accumulator) and `element` (32 bits), LATENCY cycles before. With `first`, the
    element alone; with `final`, as it enters a result: clamped, NaN as 0x7fc00000. `op`, `dtype`, `first` and `final`
    stand still meanwhile."""

    def __init__(self, *, floats: bool, plants: Plants | None = None) -> None:
        self._floats, self._plants = floats, plants or Plants()
        self.op, self.dtype = Signal(4), Signal(4)
        self.first, self.final = Signal(), Signal()
        self.value, self.element = Signal(ACCUMULATOR_BITS), Signal(32)
        self.result = Signal(ACCUMULATOR_BITS)
        name_signals(self)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        value, element = self.value.as_signed(), self.element.as_signed()
        is_float = self.dtype == _FLOAT
        whole = Signal(ACCUMULATOR_BITS)
        with m.If(self.first):
            m.d.comb += whole.eq(element)
        with m.Elif(self.op == _XOR):
            m.d.comb += whole.eq(self.value[0:32] ^ self.element)
        with m.Elif(self.op == _MAX):
            larger = self.value[0:32].as_signed() > element
            m.d.comb += whole.eq(Mux(larger, self.value[0:32], self.element))
            if self._floats:
                with m.If(is_float):
                    m.d.comb += whole.eq(float_max(self.value[0:32], self.element))
        with m.Else():
            m.d.comb += whole.eq(value + element)
        delayed: Value = whole
        for _ in range(LATENCY - 1):
            stage = Signal(ACCUMULATOR_BITS)
            m.d.sync += stage.eq(delayed)
            delayed = stage
        chosen = Signal(ACCUMULATOR_BITS)
        m.d.comb += chosen.eq(delayed)
        if self._floats:
            m.submodules.float = adder = FloatAdder(self._plants)
            m.d.comb += [adder.a.eq(self.value[0:32]), adder.b.eq(self.element)]
            with m.If(is_float & (self.op == _SUM) & ~self.first):
                m.d.comb += chosen.eq(adder.result)
        finished = Signal(ACCUMULATOR_BITS)
        m.d.comb += finished.eq(chosen)
        exact = chosen.as_signed()
        is_nan = (chosen[23:31] == 0xFF) & chosen[0:23].any()
        with m.If(self.final | self._plants["saturates-early"]):
            with m.If((self.dtype == _SATURATING) & (self.op == _SUM)):
                m.d.comb += finished.eq(Mux(exact > _MOST, _MOST, Mux(exact < _LEAST, _LEAST, exact)))
            with m.Elif(is_float & (self.op != _XOR) & is_nan):
                m.d.comb += finished.eq(CANONICAL_NAN)
        m.d.sync += self.result.eq(finished)
        return m
