"""Layer 2 forwarding (IEEE 802.1D in small): static entries, learning, flooding; never back out of the ingress port."""

from __future__ import annotations

from switch_nodes.config import SwitchConfig
from switch_nodes.program import ProgramBase
from workloads.errors import ScenarioError
from workloads.machine import Buffer

__all__ = ["ForwardProgram", "MacTable"]

_HEADER_BYTES = 14
_LINK_LOCAL = bytes.fromhex("0180c20000")
"""01:80:c2:00:00:0x (spanning tree, pause, LLDP) never crosses a bridge"""


class MacTable:
    """Which port leads to which MAC. Static entries stay; learnt ones follow the newest frame of their source."""

    max_learnt = 4096
    """sources learnt at most; frames to further ones are flooded"""

    def __init__(self, config: SwitchConfig) -> None:
        for mac, port in config.macs:
            if not 0 <= port < config.ports:
                raise ScenarioError(
                    f"switch {config.name}: MAC {mac.hex(':')} is behind a port that does not exist",
                    found=str(port),
                    allowed=f"0 .. {config.ports - 1}",
                )
        self.ports = config.ports
        self.static = dict(config.macs)
        self.learnt: dict[bytes, int] = {}

    def learn(self, source: bytes, port: int) -> None:
        """`source` was seen on `port`. Group addresses are no sources (802.1D 7.8)."""
        known = source in self.static or self.learnt.get(source) == port
        if known or source[0] & 1 or (len(self.learnt) >= self.max_learnt and source not in self.learnt):
            return
        self.learnt[source] = port

    def lookup(self, destination: bytes) -> int | None:
        """None: unknown or a group."""
        port = self.static.get(destination)
        return self.learnt.get(destination) if port is None else port


class ForwardProgram(ProgramBase):
    """A plain switch; also what other programs do with every frame that is not theirs (`forward`)."""

    counter_names: tuple[str, ...] = ("forwarded", "flooded", "filtered", "runt")

    def __init__(self, config: SwitchConfig) -> None:
        super().__init__(config)
        self.macs = MacTable(config)

    def receive_frame(self, port: int, frame: Buffer, now: int) -> None:
        self.forward(port, frame)

    def forward(self, port: int, frame: Buffer) -> None:
        """Send a copy of the frame where its destination is, or everywhere but to `port`."""
        if len(frame) < _HEADER_BYTES:
            self.count("runt")
            return
        destination, source = bytes(frame[0:6]), bytes(frame[6:12])
        self.macs.learn(source, port)
        out = self.macs.lookup(destination)
        if out == port or (destination[:5] == _LINK_LOCAL and destination[5] < 0x10):
            self.count("filtered")
            return
        copy = bytes(frame)
        if out is not None:
            self.count("forwarded")
            self.emit(out, copy)
            return
        self.count("flooded")
        for other in range(self.macs.ports):
            if other != port:
                self.emit(other, copy)
