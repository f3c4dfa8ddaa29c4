"""The fold of a complete slot: payload by payload in rank order, word by word, through the adder lanes.

Rule 1: rank k enters the accumulators after rank k-1 left the lanes: left fold, in rank order, whatever came first.
Rule 2: the last rank's pass writes the value of the slot.
"""

from __future__ import annotations

from amaranth.hdl import Cat, Elaboratable, Module, Mux, Signal

from switch_nodes.fpga.rtl.adder import ACCUMULATOR_BITS, LATENCY, AdderLane
from switch_nodes.fpga.rtl.memory import Ram
from switch_nodes.fpga.rtl.naming import name_signals
from switch_nodes.fpga.rtl.parameters import RtlParameters
from switch_nodes.fpga.rtl.plants import Plants

__all__ = ["Folder"]


class Folder(Elaboratable):
    """`start` with `members`, `words`, `op`, `dtype`; `busy` until the value is written. `read_rank`, `word`: the
    payload that `payload` shows one cycle later. `w_en`, `w_word`, `w_data`: a word of the value."""

    def __init__(self, p: RtlParameters, plants: Plants | None = None, *, verilog: bool = True) -> None:
        self.p, self._plants, self._verilog = p, plants or Plants(), verilog
        self.start, self.busy = Signal(), Signal()
        self.members, self.words = Signal(range(p.members + 1)), Signal(range(p.payload_words + 1))
        self.op, self.dtype = Signal(4), Signal(4)
        self.rank, self.word = Signal(range(p.members)), Signal(range(p.payload_words))
        self.read_rank = Signal(range(p.members))
        """of the payload that is read"""
        self.payload = Signal(p.width)
        self.w_en, self.w_word, self.w_data = Signal(), Signal(range(p.payload_words)), Signal(p.width)
        name_signals(self)

    def elaborate(self, platform: object) -> Module:
        p, m = self.p, Module()
        count = p.width // 32
        m.submodules.sums = sums = Ram(count * ACCUMULATOR_BITS, p.payload_words, verilog=self._verilog)
        lanes = [AdderLane(floats=p.floats, plants=self._plants) for _ in range(count)]
        issuing = Signal()
        last_word, final = Signal(), Signal()
        m.d.comb += [last_word.eq(self.word + 1 == self.words), final.eq(self.rank + 1 == self.members)]
        # A word's way: address, RAM, lanes; its number goes with it.
        depth = 1 + LATENCY
        valids = [issuing, *(Signal(name=f"valid_{at}") for at in range(depth))]
        numbers = [self.word, *(Signal.like(self.word, name=f"word_{at}") for at in range(depth))]
        for at in range(depth):
            m.d.sync += [valids[at + 1].eq(valids[at]), numbers[at + 1].eq(numbers[at])]
        draining = Cat(valids[1:]).any()
        backwards = (self.members - 1 - self.rank)[0 : len(self.rank)]
        m.d.comb += self.read_rank.eq(Mux(self._plants["reverse-order"], backwards, self.rank))
        with m.If(self.start):
            m.d.sync += [self.busy.eq(self.words != 0), issuing.eq(self.words != 0), self.rank.eq(0), self.word.eq(0)]
        with m.Elif(issuing):
            m.d.sync += self.word.eq(self.word + 1)
            with m.If(last_word):
                m.d.sync += [issuing.eq(0), self.word.eq(0)]
        with m.Elif(self.busy & ~draining):
            with m.If(final):
                m.d.sync += self.busy.eq(0)
            with m.Else():
                m.d.sync += [self.rank.eq(self.rank + 1), issuing.eq(1)]
        m.d.comb += [
            sums.r_addr.eq(self.word), sums.w_addr.eq(numbers[-1]), sums.w_en.eq(valids[-1]),
            self.w_en.eq(valids[-1] & final), self.w_word.eq(numbers[-1]),
        ]  # fmt: skip
        for at, lane in enumerate(lanes):
            m.submodules[f"lane_{at}"] = lane
            accumulator = sums.r_data.word_select(at, ACCUMULATOR_BITS)
            m.d.comb += [
                lane.op.eq(self.op), lane.dtype.eq(self.dtype), lane.first.eq(self.rank == 0), lane.final.eq(final),
                lane.value.eq(accumulator), lane.element.eq(self.payload.word_select(at, 32)),
                sums.w_data.word_select(at, ACCUMULATOR_BITS).eq(lane.result),
                self.w_data.word_select(at, 32).eq(lane.result[0:32]),
            ]  # fmt: skip
        carry = (lanes[0].value[0:32] + lanes[0].element)[32] & (self.rank != 0)
        with m.If(self._plants["carry-between-lanes"]):
            m.d.comb += lanes[1].element.eq(self.payload[32:64] + carry)
        return m
