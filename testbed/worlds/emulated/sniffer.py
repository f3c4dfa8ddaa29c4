"""What passes the ports of a switch that is no program of ours, for its capture: a socket that listens to its
namespace.

One socket for all ports, so that the order of frames is the order in which the kernel saw them. A frame enters when it
came off the link, and leaves when the port's queue let it go. A capture with holes would accuse the switch of what it
did not do, so one that lost a frame is thrown away.
"""

from __future__ import annotations

import select
import socket
from collections.abc import Iterator, Sequence

from switch_nodes.dataplane.clock import EmulatedClock
from switch_nodes.dataplane.sockets import socket_drops
from testbed.captures.capture import PcapngTap
from testbed.history.events import CaptureLost
from testbed.worlds.emulated.control import NodeChannel
from workloads.errors import HostCapabilityError
from workloads.machine import Event, FrameBatch

__all__ = ["SnifferLoop"]

_ETH_P_ALL = 3
_SO_RCVBUFFORCE = 33
_BUFFER = 1 << 26
_ROWS = 256
_LARGEST_FRAME = 9_216
_POLL_MS = 100


class SnifferLoop:
    """A NodeLoop, in the namespace of the switch. `interfaces[port]`; others, such as the switch's own, are ignored."""

    backend = "openvswitch"

    def __init__(self, interfaces: Sequence[str], tap: PcapngTap, channel: NodeChannel, clock: EmulatedClock) -> None:
        self._channel, self._tap, self._clock = channel, tap, clock
        self._ports = {name: port for port, name in enumerate(interfaces)}
        try:
            self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(_ETH_P_ALL))
            self._socket.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, _BUFFER)
        except OSError as error:
            raise HostCapabilityError(f"a packet socket ({error})", "run as root") from error
        self._socket.setblocking(False)
        self._incoming, self._outgoing = (FrameBatch.of(_ROWS, _LARGEST_FRAME) for _ in range(2))
        self._stopped_ns = 0

    def run(self, origin_ns: int) -> None:
        poller = select.poll()
        poller.register(self._channel.socket, select.POLLIN)
        poller.register(self._socket, select.POLLIN)
        going = True
        while going:
            for handle, _ in poller.poll(_POLL_MS):
                if handle == self._channel.socket.fileno():
                    going = self._channel.on_control()
                else:
                    self._read(origin_ns)
        self._read(origin_ns)
        self._stopped_ns = self._clock.since(origin_ns)

    def finish(self) -> Iterator[tuple[int, Event]]:
        drops = socket_drops(self._socket)
        self._socket.close()
        self._tap.close()
        if drops:
            self._tap.path.unlink()
            yield self._stopped_ns, CaptureLost(drops)

    def _read(self, origin_ns: int) -> None:
        """All that waits, in runs of one direction."""
        run: FrameBatch | None = None
        now = self._clock.since(origin_ns)
        while True:
            try:
                frame, (interface, _, kind, *_) = self._socket.recvfrom(_LARGEST_FRAME)
            except BlockingIOError:
                break
            except OSError:
                # An interface went down: the kernel says so once, to whoever reads next.
                continue
            port = self._ports.get(interface)
            if port is None:
                continue
            batch = self._outgoing if kind == socket.PACKET_OUTGOING else self._incoming
            if run is not None and (run is not batch or run.count == _ROWS):
                self._flush(run, now)
                now = self._clock.since(origin_ns)
            run = batch
            batch.append(port, frame)
        if run is not None:
            self._flush(run, now)

    def _flush(self, batch: FrameBatch, now: int) -> None:
        self._tap.record(batch, 0, batch.count, now, batch is self._outgoing)
        batch.count = 0
