"""Layer 2 forwarding: the program, which follows a `MacTable`."""

from __future__ import annotations

from switch_nodes.config import SwitchConfig
from switch_nodes.forwarding.forwarder import Forwarder
from switch_nodes.forwarding.macs import MacTable, is_link_local
from switch_nodes.program import ProgramBase
from workloads.machine import Buffer
from workloads.quick import Quick

__all__ = ["ForwardProgram", "MacTable", "is_link_local"]


class ForwardProgram(ProgramBase):
    """A plain switch; also what other programs do with every frame that is not theirs (`forward`)."""

    counter_names: tuple[str, ...] = ("forwarded", "flooded", "filtered", "runt")

    def __init__(self, config: SwitchConfig) -> None:
        super().__init__(config)
        self.macs = MacTable(config)

    @property
    def quick(self) -> Quick | None:
        """None: of a subclass, which may do any of it in another way."""
        return Forwarder(self.macs, self.counters, self._events) if "quick" in vars(type(self)) else None

    def receive_frame(self, port: int, frame: Buffer, now: int) -> None:
        self.forward(port, frame)

    def forward(self, port: int, frame: Buffer) -> None:
        """Send a copy of the frame by each of its ways."""
        ways = self.macs.ways(port, frame)
        self.count(self.macs.verdict)
        copy = bytes(frame)
        for out in ways:
            self.emit(out, copy)
