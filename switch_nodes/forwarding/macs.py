"""Ports by MAC: static entries, equal-cost groups, learning, flooding along a tree. A frame never goes back out of the
ingress port (IEEE 802.1D in small)."""

from __future__ import annotations

from collections.abc import Iterator

from switch_nodes.config import SwitchConfig
from switch_nodes.forwarding.equal_cost import choose_port, spray_port, sprayed_counts
from workloads.errors import ScenarioError
from workloads.machine import Buffer
from workloads.wire.places import DST_MAC, IP_AT, SRC_MAC

__all__ = ["MacTable", "is_link_local"]

_HEADER_BYTES = IP_AT
_LINK_LOCAL = bytes.fromhex("0180c20000")
"""01:80:c2:00:00:0x (spanning tree, pause, LLDP) never crosses a bridge"""


def is_link_local(destination: bytes) -> bool:
    return destination[:5] == _LINK_LOCAL and destination[5] < 0x10


class MacTable:
    """Which port leads to which MAC. Static entries stay; learnt ones follow the newest frame of their source.

    Raises ScenarioError for an entry that no frame could follow."""

    def __init__(self, config: SwitchConfig) -> None:
        self.max_learnt = 4096
        """sources learnt at most; frames to further ones are flooded"""
        self.ports, self.salt, self._hairpin = config.ports, config.flow_salt, config.hairpin
        self.static = dict(config.macs)
        self.groups = dict(config.groups)
        self.flood_ports = tuple(range(config.ports) if config.flood_ports is None else config.flood_ports)
        self.learnt: dict[bytes, int] = {}
        self.sprayed = sprayed_counts() if config.spray else None
        """None: all frames of a flow take one port of a group"""
        self.verdict = ""
        """what became of the last frame: forwarded, flooded, filtered, runt"""
        for what, port in _port_uses(config):
            if not 0 <= port < config.ports:
                raise ScenarioError(
                    f"switch {config.name}: {what} a port that does not exist",
                    found=str(port),
                    allowed=f"0 .. {config.ports - 1}",
                )
        for mac, ports in config.groups:
            if not ports or mac in self.static:
                problem = "also has an entry of its own" if ports else "leads nowhere"
                raise ScenarioError(f"switch {config.name}: the group of MAC {mac.hex(':')} {problem}")

    def learn(self, source: bytes, port: int) -> None:
        """`source` was seen on `port`. Group addresses are no sources (802.1D 7.8). Outside the tree nothing is learnt:
        what took one of several paths says nothing about the way back, and entries could form a loop."""
        known = source in self.static or source in self.groups or self.learnt.get(source) == port
        if known or source[0] & 1 or port not in self.flood_ports:
            return
        if len(self.learnt) >= self.max_learnt and source not in self.learnt:
            return
        self.learnt[source] = port

    def lookup(self, destination: bytes, frame: Buffer) -> int | None:
        """Where `frame`, which goes to `destination`, leaves. None: unknown or a group address."""
        port = self.static.get(destination)
        if port is not None:
            return port
        equal = self.groups.get(destination)
        if equal is None:
            return self.learnt.get(destination)
        if self.sprayed is None:
            return choose_port(equal, frame, self.salt)
        return spray_port(equal, frame, self.salt, self.sprayed)

    def ways(self, port: int, frame: Buffer) -> tuple[int, ...]:
        """The ports by which a frame leaves that came by `port`: where its destination is, or along the tree, but
        (without `hairpin`) never back."""
        if len(frame) < _HEADER_BYTES:
            self.verdict = "runt"
            return ()
        destination, source = bytes(frame[DST_MAC]), bytes(frame[SRC_MAC])
        self.learn(source, port)
        out = self.lookup(destination, frame)
        self.verdict = "filtered"
        if (out == port and not self._hairpin) or is_link_local(destination):
            return ()
        if out is not None:
            self.verdict = "forwarded"
            return (out,)
        if port not in self.flood_ports:
            return ()
        self.verdict = "flooded"
        return tuple([other for other in self.flood_ports if other != port])


def _port_uses(config: SwitchConfig) -> Iterator[tuple[str, int]]:
    for mac, port in config.macs:
        yield f"MAC {mac.hex(':')} is behind", port
    for mac, ports in config.groups:
        for port in ports:
            yield f"MAC {mac.hex(':')} is behind", port
    for port in config.flood_ports or ():
        yield "floods go to", port
