"""Memories: the only place where a vendor's tool may put something of its own.

A large memory is an instance of `ina_ram`, whose Verilog below every synthesiser maps to block RAM. In Amaranth's own
simulator, which cannot run Verilog, it is a memory of Amaranth.
"""

from __future__ import annotations

from amaranth.hdl import ClockSignal, Elaboratable, Instance, Module, Signal
from amaranth.lib.memory import Memory

from switch_nodes.fpga.rtl.naming import name_signals

__all__ = ["RAM_VERILOG", "Ram"]

RAM_VERILOG = """\
// One read port, one write port, one clock. A read during a write of the same word gives the old one.

module ina_ram #(parameter WIDTH = 64, parameter DEPTH = 16, parameter ABITS = 4) (
    input wire clk,
    input wire r_en,
    input wire [ABITS-1:0] r_addr,
    output reg [WIDTH-1:0] r_data,
    input wire w_en,
    input wire [ABITS-1:0] w_addr,
    input wire [WIDTH-1:0] w_data
);
    reg [WIDTH-1:0] words [0:DEPTH-1];
    always @(posedge clk) begin
        if (w_en) words[w_addr] <= w_data;
        if (r_en) r_data <= words[r_addr];
    end
endmodule
"""


class Ram(Elaboratable):
    """`depth` words of `width` bits. `r_data` shows the word of `r_addr` one cycle after a cycle with `r_en`, and keeps
    it. `verilog`: an instance of `ina_ram`, else a memory of Amaranth."""

    def __init__(self, width: int, depth: int, *, verilog: bool = True) -> None:
        self.width, self.depth, self._verilog = width, max(depth, 2), verilog
        bits = (self.depth - 1).bit_length()
        self.r_en, self.w_en = Signal(init=1), Signal()
        self.r_addr, self.w_addr = Signal(bits), Signal(bits)
        self.r_data, self.w_data = Signal(width), Signal(width)
        name_signals(self)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        if self._verilog:
            m.submodules.ram = Instance(
                "ina_ram", p_WIDTH=self.width, p_DEPTH=self.depth, p_ABITS=len(self.r_addr), i_clk=ClockSignal(),
                i_r_en=self.r_en, i_r_addr=self.r_addr, o_r_data=self.r_data, i_w_en=self.w_en,
                i_w_addr=self.w_addr, i_w_data=self.w_data,
            )  # fmt: skip
            return m
        m.submodules.words = words = Memory(shape=self.width, depth=self.depth, init=[])
        read, write = words.read_port(), words.write_port()
        m.d.comb += [
            read.en.eq(self.r_en), read.addr.eq(self.r_addr), self.r_data.eq(read.data), write.en.eq(self.w_en),
            write.addr.eq(self.w_addr), write.data.eq(self.w_data),
        ]  # fmt: skip
        return m
