"""AF_PACKET sockets on interfaces of this network namespace (packet(7), socket(7); kernel net/packet/af_packet.c)."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import socket
import struct
from collections.abc import Sequence
from dataclasses import dataclass

from workloads.errors import HostCapabilityError
from workloads.wire.envelope import ETHERNET

__all__ = [
    "QUEUE_FRAMES",
    "SIOCOUTQ",
    "PortSocket",
    "frame_cost",
    "open_port",
    "open_ports",
    "queue_frames_for",
    "row_stride",
    "socket_drops",
]

_SOL_PACKET = 263
_PACKET_ADD_MEMBERSHIP, _PACKET_STATISTICS, _PACKET_IGNORE_OUTGOING = 1, 6, 23
_PACKET_MR_PROMISC = 1
_ETH_P_ALL = 3
_SO_SNDBUFFORCE, _SO_RCVBUFFORCE = 32, 33
_SIOCGIFMTU = 0x8921
SIOCOUTQ = 0x5411

_ETHERNET_BYTES = ETHERNET.size
_ROW_ALIGNMENT = 64
RECEIVE_BUFFER_BYTES = 64 << 20
"""A ceiling, not an allocation: the kernel charges frames against it while they wait for us."""
_DROP_TAIL_BUFFER_BYTES = 64 << 20
"""So large that the qdisc is full first: its limit decides what is dropped."""

QUEUE_FRAMES = 160
"""With backpressure, frames that the kernel holds for us at most: enough to keep a link busy between two wake-ups."""
_QUEUE_NS = 1_000_000
"""what the ring of a NIC holds: a NAK cannot recall it"""
_LEAST_QUEUE_FRAMES = 2


@dataclass(frozen=True, slots=True)
class PortSocket:
    """One port. `mtu` is in bytes, without the Ethernet header; `send_buffer` is what the kernel granted, in bytes."""

    interface: str
    socket: socket.socket
    mtu: int
    send_buffer: int


def frame_cost(length: int) -> int:
    """Bytes of a socket buffer that the kernel charges for a frame of `length` bytes. This estimates skb->truesize: the
    sk_buff, and either one power-of-two block that also holds skb_shared_info, or whole pages."""
    head, shared = 256, 320
    if length + shared + 64 <= 4096:
        return head + (1 << (length + shared + 64 - 1).bit_length())
    return head + 1024 + -(-length // 4096) * 4096


def queue_frames_for(rate_bps: int | None, mtu: int) -> int:
    """Frames that take 1 ms at `rate_bps`, two at least and at most `QUEUE_FRAMES`; that many when the rate is
    unknown."""
    if rate_bps is None:
        return QUEUE_FRAMES
    frames = rate_bps * _QUEUE_NS // (8 * 10**9) // (mtu + _ETHERNET_BYTES)
    return max(_LEAST_QUEUE_FRAMES, min(QUEUE_FRAMES, frames))


def row_stride(mtu: int) -> int:
    """Bytes of a row that holds every frame of an interface, a whole number of cache lines."""
    return -(-(mtu + _ETHERNET_BYTES) // _ROW_ALIGNMENT) * _ROW_ALIGNMENT


def open_ports(interfaces: Sequence[str], *, backpressure: bool, rate_bps: int | None = None) -> list[PortSocket]:
    """One socket per interface, all open or none. Raises as `open_port`."""
    opened: list[PortSocket] = []
    with contextlib.ExitStack() as undo:
        for interface in interfaces:
            opened.append(open_port(interface, backpressure=backpressure, rate_bps=rate_bps))
            undo.callback(opened[-1].socket.close)
        undo.pop_all()
    return opened


def open_port(interface: str, *, backpressure: bool, rate_bps: int | None = None) -> PortSocket:
    """A non-blocking raw socket that sees every frame that arrives on `interface`, promiscuous, and none that leaves.

    With `backpressure` (a NIC) its send buffer holds only about 1 ms at `rate_bps`, so the kernel refuses frames long
    before a qdisc drops. Without it (a switch port), the qdisc's own limit drops frames. PACKET_QDISC_BYPASS stays off:
    shaping must apply. Raises HostCapabilityError without CAP_NET_RAW, OSError when there is no such interface.
    """
    try:
        # Protocol 0 receives nothing until bind() names the interface; ETH_P_ALL here would let in foreign frames.
        port = socket.socket(socket.AF_PACKET, socket.SOCK_RAW | socket.SOCK_NONBLOCK | socket.SOCK_CLOEXEC, 0)
    except PermissionError:
        raise HostCapabilityError("the right to open AF_PACKET sockets", "run as root (CAP_NET_RAW)") from None
    try:
        index = _interface_index(interface)
        try:
            port.setsockopt(_SOL_PACKET, _PACKET_IGNORE_OUTGOING, 1)
        except OSError as error:
            if error.errno != errno.ENOPROTOOPT:
                raise
            raise HostCapabilityError("PACKET_IGNORE_OUTGOING", "use Linux 4.20 or later") from None
        mtu = _mtu(port, interface)
        _set_buffer(port, socket.SO_RCVBUF, _SO_RCVBUFFORCE, RECEIVE_BUFFER_BYTES)
        queue = queue_frames_for(rate_bps, mtu) * frame_cost(mtu + _ETHERNET_BYTES)
        _set_buffer(port, socket.SO_SNDBUF, _SO_SNDBUFFORCE, queue if backpressure else _DROP_TAIL_BUFFER_BYTES)
        port.bind((interface, _ETH_P_ALL))
        promiscuous = struct.pack("=IHH8s", index, _PACKET_MR_PROMISC, 0, bytes(8))
        port.setsockopt(_SOL_PACKET, _PACKET_ADD_MEMBERSHIP, promiscuous)
        granted = port.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF)
    except BaseException:
        port.close()
        raise
    return PortSocket(interface, port, mtu, granted)


def socket_drops(port: socket.socket) -> int:
    """Frames that the kernel had no room for since this was last asked (reading resets the counter)."""
    _, drops = struct.unpack("=II", port.getsockopt(_SOL_PACKET, _PACKET_STATISTICS, 8))
    return int(drops)


def _interface_index(interface: str) -> int:
    try:
        return socket.if_nametoindex(interface)
    except OSError as error:
        raise OSError(error.errno or errno.ENODEV, f"no interface {interface!r} in this network namespace") from None


def _mtu(port: socket.socket, interface: str) -> int:
    request = struct.pack("16si12x", interface.encode(), 0)
    return int(struct.unpack_from("i", fcntl.ioctl(port, _SIOCGIFMTU, request), 16)[0])


def _set_buffer(port: socket.socket, option: int, force: int, size: int) -> None:
    """Ask for `size` bytes as the kernel counts them: it doubles the size that it is given."""
    try:
        port.setsockopt(socket.SOL_SOCKET, force, size // 2)
    except PermissionError:  # in a user namespace: up to net.core.[rw]mem_max
        port.setsockopt(socket.SOL_SOCKET, option, size // 2)
