"""Wires and memories of APPLY: what the bus, the engine and the states of APPLY itself share."""

from __future__ import annotations

from amaranth.hdl import Signal

from switch_nodes.fpga.rtl.banks import BankMap
from switch_nodes.fpga.rtl.contexts import RingContext
from switch_nodes.fpga.rtl.memory import Ram
from switch_nodes.fpga.rtl.naming import name_signals
from switch_nodes.fpga.rtl.parameters import RtlParameters
from switch_nodes.fpga.rtl.plants import Plants

__all__ = ["ApplierPins"]


class ApplierPins:
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
