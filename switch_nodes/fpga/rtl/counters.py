"""The counters of the register map: each counts pulses, and LATCH copies all of them in one cycle."""

from __future__ import annotations

from amaranth.hdl import Array, Const, Elaboratable, Module, Mux, Signal

from switch_nodes.fpga.regmap import COUNTERS
from switch_nodes.fpga.rtl.naming import name_signals
from switch_nodes.fpga.rtl.plants import Plants

__all__ = ["CardCounters"]


class CardCounters(Elaboratable):
    """`pulse`: one wire per counter, by its name. `latch` copies, `clear` sets to zero. `select`: number of the
    counter, in the order of the map, whose copy `copy` shows."""

    def __init__(self, plants: Plants | None = None) -> None:
        self._plants = plants or Plants()
        self.pulse = {name: Signal(name=f"count_{name}") for name in COUNTERS}
        self.latch, self.clear = Signal(), Signal()
        self.select, self.copy = Signal(range(len(COUNTERS))), Signal(64)
        self.frames_in = Signal(64)
        """the counter itself"""
        name_signals(self)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        copies = []
        for name, pulse in self.pulse.items():
            count = Signal(64, name=f"total_{name}")
            copy = Signal(64, name=f"copy_{name}")
            copies.append(copy)
            with m.If(pulse):
                twice = self._plants["counter-twice"] if name == "duplicate" else Const(0)
                m.d.sync += count.eq(count + Mux(twice, 2, 1))
            with m.If(self.latch):
                m.d.sync += copy.eq(count)
            with m.If(self.clear):
                m.d.sync += [count.eq(0), copy.eq(0)]
            if name == "frames_in":
                m.d.comb += self.frames_in.eq(count)
        m.d.comb += self.copy.eq(Array(copies)[self.select])
        return m
