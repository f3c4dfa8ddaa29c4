"""The status monitor: what the engine does with packets, as pins that a logic analyser or a simulation reads. One thing
at most happens in a cycle."""

from __future__ import annotations

from amaranth.hdl import Module, Signal, Value

from switch_nodes.fpga.regmap import COUNTERS
from switch_nodes.fpga.rtl.names import Happening
from switch_nodes.fpga.rtl.naming import name_signals

__all__ = ["StatusTap"]


class StatusTap:
    """`ring`: its id. `known`: message and offset are."""

    def __init__(self) -> None:
        self.valid, self.kind, self.known = Signal(), Signal(3), Signal()
        self.ring, self.rank, self.message = Signal(16), Signal(8), Signal(32)
        self.offset, self.packets = Signal(16), Signal(16)
        self.reason = Signal(range(len(COUNTERS)))
        name_signals(self)

    def fields(self) -> tuple[Signal, ...]:
        return (
            self.valid, self.kind, self.known, self.ring, self.rank, self.message, self.offset, self.packets,
            self.reason,
        )  # fmt: skip

    def report(self, m: Module, kind: Happening, *, reason: str = "", packets: Value | int | None = None) -> None:
        """In the state where this is called."""
        m.d.comb += [self.valid.eq(1), self.kind.eq(int(kind))]
        if reason:
            m.d.comb += self.reason.eq(list(COUNTERS).index(reason))
        if packets is not None:
            m.d.comb += self.packets.eq(packets)
