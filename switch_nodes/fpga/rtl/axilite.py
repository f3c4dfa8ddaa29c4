"""The register bus behind an AXI4-Lite port (ARM IHI 0022, chapter B1), for tools that connect nothing else.

Rule 1: one access at a time; where a read and a write come together, the read goes first. Rule 2: address and data of a
write may come in either order; both are taken in one cycle, when both are there. Rule 3: a write of less than a whole
word is answered with SLVERR, and writes nothing. Rule 4: an answer stays until it is taken.
"""

from __future__ import annotations

from amaranth.hdl import Elaboratable, Module, Signal

from switch_nodes.fpga.rtl.naming import name_signals

__all__ = ["OKAY", "SLVERR", "AxiLite", "axi_pins"]

OKAY, SLVERR = 0, 2
"""codes of `bresp` and `rresp`"""
_WHOLE = 0b1111


class AxiLite(Elaboratable):
    """`aw*`, `w*`, `b*`, `ar*`, `r*`: the port, 32 bits of address and data, without `prot`. `strobe`, `write`,
    `address`, `w_data`, `ack`, `r_data`: the bus of `Registers`."""

    def __init__(self) -> None:
        self.awvalid, self.awready, self.awaddr = Signal(), Signal(), Signal(32)
        self.wvalid, self.wready, self.wdata, self.wstrb = Signal(), Signal(), Signal(32), Signal(4)
        self.bvalid, self.bready, self.bresp = Signal(), Signal(), Signal(2)
        self.arvalid, self.arready, self.araddr = Signal(), Signal(), Signal(32)
        self.rvalid, self.rready, self.rdata, self.rresp = Signal(), Signal(), Signal(32), Signal(2)
        self.strobe, self.write, self.ack = Signal(), Signal(), Signal()
        self.address, self.w_data, self.r_data = Signal(32), Signal(32), Signal(32)
        name_signals(self)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        with m.FSM():
            with m.State("IDLE"):
                with m.If(self.arvalid):
                    m.d.comb += self.arready.eq(1)
                    m.d.sync += [self.address.eq(self.araddr), self.write.eq(0)]
                    m.next = "ACCESS"
                with m.Elif(self.awvalid & self.wvalid):
                    m.d.comb += [self.awready.eq(1), self.wready.eq(1)]
                    m.d.sync += [self.address.eq(self.awaddr), self.w_data.eq(self.wdata), self.write.eq(1)]
                    m.d.sync += self.bresp.eq(OKAY)
                    m.next = "ACCESS"
                    with m.If(self.wstrb != _WHOLE):
                        m.d.sync += self.bresp.eq(SLVERR)
                        m.next = "ANSWER_WRITE"
            with m.State("ACCESS"):
                m.d.comb += self.strobe.eq(1)
                with m.If(self.ack):
                    m.d.sync += self.rdata.eq(self.r_data)
                    m.next = "ANSWER_READ"
                    with m.If(self.write):
                        m.next = "ANSWER_WRITE"
            with m.State("ANSWER_READ"):
                m.d.comb += self.rvalid.eq(1)
                with m.If(self.rready):
                    m.next = "IDLE"
            with m.State("ANSWER_WRITE"):
                m.d.comb += self.bvalid.eq(1)
                with m.If(self.bready):
                    m.next = "IDLE"
        return m


def axi_pins(port: AxiLite) -> dict[str, Signal]:
    """Pins of a module with this port, by name: `s_axi_awvalid` and so on."""
    names = (
        "awvalid", "awready", "awaddr", "wvalid", "wready", "wdata", "wstrb", "bvalid", "bready", "bresp", "arvalid",
        "arready", "araddr", "rvalid", "rready", "rdata", "rresp",
    )  # fmt: skip
    return {f"s_axi_{name}": getattr(port, name) for name in names}
