"""The card: data ports, engine, registers; and its Verilog."""

from __future__ import annotations

from amaranth.hdl import Elaboratable, Module, Signal

from switch_nodes.fpga.rtl.applying import Applier
from switch_nodes.fpga.rtl.axilite import AxiLite, axi_pins
from switch_nodes.fpga.rtl.counters import CardCounters
from switch_nodes.fpga.rtl.emitter import Emitter
from switch_nodes.fpga.rtl.engine import Engine
from switch_nodes.fpga.rtl.ingress import Ingress
from switch_nodes.fpga.rtl.memory import RAM_VERILOG
from switch_nodes.fpga.rtl.names import PLANTS
from switch_nodes.fpga.rtl.naming import name_signals
from switch_nodes.fpga.rtl.parameters import RtlParameters
from switch_nodes.fpga.rtl.plants import Plants
from switch_nodes.fpga.rtl.registers import Registers
from switch_nodes.fpga.rtl.tap import StatusTap

__all__ = ["MODULE", "AxiCard", "CardDesign", "verilog_of"]

MODULE = "ina_card"


class CardDesign(Elaboratable):
    """Pins, all of the clock `clk` with the reset `rst`.

    `rx_*`, `tx_*`: AXI4-Stream of all data ports side by side, port 0 lowest. `bus_*`: the registers, one word per
    strobe.
    `hash`: SHA-256 of the bitstream, by the card's loader. `idle`: no frame is inside. `frames_in`: frames so far.
    `plant`: of a design with planted bugs, the one that acts; else unused. `tap_*`: the status monitor (`tap`)."""

    def __init__(self, p: RtlParameters, *, verilog: bool = True) -> None:
        self.p, self._verilog = p, verilog
        self.rx_valid, self.rx_ready, self.rx_last = Signal(p.ports), Signal(p.ports), Signal(p.ports)
        self.rx_data, self.rx_keep = Signal(p.ports * p.width), Signal(p.ports * p.beat)
        self.tx_valid, self.tx_ready, self.tx_last = Signal(p.ports), Signal(p.ports), Signal(p.ports)
        self.tx_data, self.tx_keep = Signal(p.ports * p.width), Signal(p.ports * p.beat)
        self.bus_strobe, self.bus_write, self.bus_ack = Signal(), Signal(), Signal()
        self.bus_address, self.bus_w_data, self.bus_r_data = Signal(32), Signal(32), Signal(32)
        self.hash, self.idle, self.frames_in = Signal(256), Signal(), Signal(64)
        self.plant = Signal(range(len(PLANTS) + 1))
        for pin in StatusTap().fields():
            setattr(self, f"tap_{pin.name}", Signal(pin.shape(), name=f"tap_{pin.name}"))
        name_signals(self)

    @property
    def pins(self) -> dict[str, tuple[Signal, None]]:
        """By name; their directions follow from the design."""
        return {name: (value, None) for name, value in vars(self).items() if isinstance(value, Signal)}

    def elaborate(self, platform: object) -> Module:
        p, m, kind = self.p, Module(), self._verilog
        plants = Plants(p.planted)
        m.submodules.ingress = ingress = Ingress(p, plants, verilog=kind)
        m.submodules.emitter = emitter = Emitter(p, plants)
        m.submodules.applier = applier = Applier(p, plants, verilog=kind)
        m.submodules.counters = counters = CardCounters(plants)
        m.submodules.registers = registers = Registers(p, applier, counters, plants, verilog=kind)
        m.submodules.engine = engine = Engine(p, ingress, emitter, applier, registers, counters, plants, verilog=kind)
        m.d.comb += plants.pin.eq(self.plant)
        m.d.comb += [getattr(self, f"tap_{pin.name}").eq(pin) for pin in engine.tap.fields()]
        m.d.comb += [
            ingress.valid.eq(self.rx_valid), ingress.last.eq(self.rx_last), ingress.data.eq(self.rx_data),
            ingress.keep.eq(self.rx_keep), self.rx_ready.eq(ingress.ready), self.tx_valid.eq(emitter.valid),
            self.tx_last.eq(emitter.last), self.tx_data.eq(emitter.data.replicate(p.ports)),
            self.tx_keep.eq(emitter.keep.replicate(p.ports)),
            emitter.ready.eq(self.tx_ready), emitter.header.eq(engine.header_ram.r_data),
            emitter.value.eq(engine.value_ram.r_data), emitter.frame.eq(ingress.r_data),
            registers.strobe.eq(self.bus_strobe), registers.write.eq(self.bus_write),
            registers.address.eq(self.bus_address), registers.w_data.eq(self.bus_w_data),
            registers.hash.eq(self.hash), self.bus_ack.eq(registers.ack), self.bus_r_data.eq(registers.r_data),
            self.idle.eq(engine.idle), self.frames_in.eq(counters.frames_in),
        ]  # fmt: skip
        return m


class AxiCard(Elaboratable):
    """The card with an AXI4-Lite port instead of its register bus: pins `s_axi_*`."""

    def __init__(self, p: RtlParameters) -> None:
        self._card, self._port = CardDesign(p), AxiLite()

    @property
    def pins(self) -> dict[str, tuple[Signal, None]]:
        """As of `CardDesign`."""
        data = {name: pin for name, pin in self._card.pins.items() if not name.startswith("bus_")}
        return data | {name: (value, None) for name, value in axi_pins(self._port).items()}

    def elaborate(self, platform: object) -> Module:
        m, card, port = Module(), self._card, self._port
        m.submodules.card, m.submodules.port = card, port
        m.d.comb += [
            card.bus_strobe.eq(port.strobe), card.bus_write.eq(port.write), card.bus_address.eq(port.address),
            card.bus_w_data.eq(port.w_data), port.ack.eq(card.bus_ack), port.r_data.eq(card.bus_r_data),
        ]  # fmt: skip
        return m


def verilog_of(p: RtlParameters, *, axi: bool = False) -> str:
    """The card as plain Verilog: module `ina_card`, its memories last. `axi`: its registers are behind AXI4-Lite."""
    from amaranth.back import verilog

    card = AxiCard(p) if axi else CardDesign(p)
    text: str = verilog.convert(card, name=MODULE, ports=card.pins, emit_src=False, strip_internal_attrs=True)
    return text + "\n" + RAM_VERILOG
