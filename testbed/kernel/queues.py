"""How many frames wait below each shaped interface of a namespace. It is one netlink dump, read without building
objects of it, since a run asks this many times a second. Layouts: include/uapi/linux/{netlink,rtnetlink,gen_stats}.h.
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator

from testbed.kernel.shaping import LEAVES

__all__ = ["open_queues", "read_waiting"]

_GET_QDISC, _NEW_QDISC, _DONE, _ERROR = 38, 36, 3, 2
_REQUEST_DUMP = 0x301
_HEAD, _TC, _ATTRIBUTE, _QUEUE = struct.Struct("=IHHII"), struct.Struct("=BxxxiIII"), struct.Struct("=HH"), "=I"
_STATS2, _STATS_QUEUE, _TYPE_MASK = 7, 3, 0x3FFF
_READ = 65_536
_TIMEOUT_S = 1.0
_QUESTION = _HEAD.pack(_HEAD.size + _TC.size, _GET_QDISC, _REQUEST_DUMP, 1, 0) + _TC.pack(0, 0, 0, 0, 0)


def open_queues() -> socket.socket:
    """For `read_waiting`, in the namespace of the calling thread. Raises OSError."""
    found = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, socket.NETLINK_ROUTE)
    found.settimeout(_TIMEOUT_S)
    return found


def read_waiting(queues: socket.socket) -> dict[int, int]:
    """Frames in the queues below our class, by index of the interface. Raises OSError."""
    queues.send(_QUESTION)
    waiting: dict[int, int] = {}
    while True:
        data = memoryview(queues.recv(_READ))
        at = 0
        while at + _HEAD.size <= len(data):
            size, kind, _, _, _ = _HEAD.unpack_from(data, at)
            if kind in (_DONE, _ERROR) or size < _HEAD.size:
                return waiting
            body = at + _HEAD.size
            if kind == _NEW_QDISC:
                _, index, handle, parent, _ = _TC.unpack_from(data, body)
                if LEAVES.get(handle) == parent:
                    waiting[index] = waiting.get(index, 0) + _length(data[body + _TC.size : at + size])
            at += size + 3 & ~3


def _length(attributes: memoryview) -> int:
    for kind, value in _each(attributes):
        if kind == _STATS2:
            for inner, told in _each(value):
                if inner == _STATS_QUEUE:
                    return int(struct.unpack_from(_QUEUE, told)[0])
    return 0


def _each(attributes: memoryview) -> Iterator[tuple[int, memoryview]]:
    at = 0
    while at + _ATTRIBUTE.size <= len(attributes):
        size, kind = _ATTRIBUTE.unpack_from(attributes, at)
        if size < _ATTRIBUTE.size:
            return
        yield kind & _TYPE_MASK, attributes[at + _ATTRIBUTE.size : at + size]
        at += size + 3 & ~3
