"""A switch node whose inside is elsewhere. What comes in on port k goes through the tunnel to port k of a card, and
what the card sends on that port leaves here. Faults and captures are where they are on every switch node: at these
ports."""

from __future__ import annotations

import os
import select
import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from switch_nodes.config import SwitchConfig
from switch_nodes.program import ProgramBase
from testbed.kernel.namespaces import inside_path
from testbed.lab.model import Tunnel
from testbed.worlds.emulated.control import NodeChannel
from testbed.worlds.emulated.node import NodeBuilder, NodeLoop, NodeTask
from testbed.worlds.emulated.programs import build_node, capture_path
from testbed.worlds.lab.vxlan import decapsulate, encapsulate
from topologies import Role
from workloads.errors import LabError
from workloads.machine import Buffer, Event

__all__ = ["RelayProgram", "relay_builder"]

_BUFFER = 8 << 20
_AT_ONCE = 256
_DATAGRAM = 65_535


class RelayProgram(ProgramBase):
    """`send(port, frame)` hands a frame to the tunnel; `arrive` is called with what comes out of it."""

    def __init__(self, config: SwitchConfig, send: Callable[[int, bytes], None]) -> None:
        super().__init__(config)
        self._send = send

    def receive_frame(self, port: int, frame: Buffer, now: int) -> None:
        self._send(port, bytes(frame))

    def arrive(self, port: int, frame: bytes) -> None:
        if 0 <= port < self.config.ports:
            self.emit(port, frame)

    def finish(self, now: int) -> None:
        """The card has the statistics."""


class _Tunnel:
    def __init__(self, tunnel: Tunnel, namespace: Path) -> None:
        """`namespace`: from which the card's host is reached. Raises LabError."""
        self._tunnel = tunnel
        try:
            with inside_path(namespace):
                self.socket = socket.socket(
                    socket.AF_INET, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK | socket.SOCK_CLOEXEC
                )
            for option in (socket.SO_RCVBUF, socket.SO_SNDBUF):
                self.socket.setsockopt(socket.SOL_SOCKET, option, _BUFFER)
            self.socket.bind(("0.0.0.0", tunnel.port))
            self._far = (tunnel.address, tunnel.port)
        except OSError as error:
            raise LabError(tunnel.address, f"no tunnel on UDP port {tunnel.port}: {error.strerror}") from error

    def send(self, port: int, frame: bytes) -> None:
        try:
            self.socket.sendto(encapsulate(self._tunnel.vni + port, frame), self._far)
        except (BlockingIOError, ConnectionRefusedError):
            # A full or broken tunnel loses frames, as a cable does.
            return

    def frames(self) -> Iterator[tuple[int, bytes]]:
        for _ in range(_AT_ONCE):
            try:
                # From a port of the far end's choice (RFC 7348, section 4.1).
                datagram, (address, _) = self.socket.recvfrom(_DATAGRAM)
            except (BlockingIOError, ConnectionRefusedError):
                return
            found = decapsulate(datagram)
            if found is not None and address == self._far[0]:
                yield found[0] - self._tunnel.vni, found[1]


class _Both:
    """A handle that is readable when one of two is."""

    def __init__(self, *sources: socket.socket) -> None:
        self._poll = select.epoll()
        for source in sources:
            self._poll.register(source.fileno(), select.EPOLLIN)

    def fileno(self) -> int:
        return self._poll.fileno()


class _Loop:
    """A NodeLoop."""

    def __init__(self, relay: RelayProgram, plane: Any, tap: Any) -> None:
        from switch_nodes.dataplane.native_io import native_library

        self.backend = "python" if native_library() is None else "native"
        self._relay, self._plane, self._tap, self._stopped_at = relay, plane, tap, 0

    def run(self, origin_ns: int) -> None:
        self._plane.run(origin_ns)
        self._stopped_at = time.monotonic_ns() - origin_ns

    def finish(self) -> Iterator[tuple[int, Event]]:
        while (event := self._relay.next_event()) is not None:
            yield self._stopped_at, event
        self._plane.close()
        if self._tap is not None:
            self._tap.close()


def relay_builder(tunnel: Tunnel, namespace: Path | None) -> NodeBuilder:
    """Builder of nodes: a host as in the emulated world, the switch as a relay. `namespace`: None for that of the
    process that forks the nodes."""

    def build(task: NodeTask, channel: NodeChannel) -> NodeLoop:
        if task.node.role is Role.HOST:
            return build_node(task, channel)
        return _build_relay(task, channel, _Tunnel(tunnel, namespace or Path(f"/proc/{os.getppid()}/ns/net")))

    return build


def _build_relay(task: NodeTask, channel: NodeChannel, tunnel: _Tunnel) -> NodeLoop:
    from switch_nodes.dataplane import DataPlane, PlaneControl, PortStages
    from testbed.captures.capture import PcapngTap
    from testbed.plan.filters import make_filters

    scenario, name = task.plan.scenario, task.node.name
    config = next(switch for switch in task.plan.switches if switch.name == name)
    relay = RelayProgram(config, tunnel.send)
    ports = sorted(scenario.topology.ports(name), key=lambda entry: entry[0])
    tap = PcapngTap(capture_path(task.run_dir, name), [link.name for _, link, _ in ports]) if scenario.capture else None
    ingress, egress = make_filters(task.plan, name)

    def on_control() -> bool:
        for port, frame in tunnel.frames():
            relay.arrive(port, frame)
        return channel.on_control()

    both: Any = _Both(channel.socket, tunnel.socket)
    plane = DataPlane(
        relay,
        task.interfaces,
        PlaneControl(channel.on_event, control=both, on_control=on_control),
        backpressure=False,
        stages=PortStages(ingress, egress, tap),
    )
    return _Loop(relay, plane, tap)
