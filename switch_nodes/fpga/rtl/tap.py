"""The status monitor: what the engine does with packets, as pins that a logic analyser or a simulation reads. One thing
at most happens in a cycle."""

from __future__ import annotations

from enum import IntEnum

from amaranth.hdl import Module, Signal, Value

from switch_nodes.fpga.regmap import COUNTERS
from switch_nodes.fpga.rtl.naming import name_signals

__all__ = ["Happening", "Tap"]


class Happening(IntEnum):
    IGNORED = 0
    """a packet of a ring entered no sum; `reason`: number of its counter"""
    INFERRED = 1
    """a message whose FIRST is missing was placed"""
    REPLAYED = 2
    """a duplicate was answered with the sum"""
    COMPLETED = 3
    """the last contribution came; `packets`: of the message"""
    OCCUPIED = 4
    """a slot got its first contribution"""
    FREED = 5
    """a slot with contributions was cleared; `packets`: 1 if it was complete"""


class Tap:
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
