"""The kernel's own language for links, addresses and queues (rtnetlink(7)), as little of it as a network of ours needs.

Requests are bytes; many of them go in one system call, each is answered, and the answers are read behind. A library that
parses each answer into objects takes some milliseconds per request, which for a fabric adds up to many seconds.
"""

from __future__ import annotations

import errno
import os
import socket
import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

__all__ = ["Request", "Rtnetlink", "attribute", "read_attributes", "text"]

_SOL_NETLINK = 270
_NETLINK_CAP_ACK, _NETLINK_EXT_ACK = 10, 11
"""include/linux/socket.h, include/uapi/linux/netlink.h"""
_HEADER = struct.Struct("=IHHII")
"""struct nlmsghdr: length, type, flags, sequence number, port"""
_ATTRIBUTE = struct.Struct("=HH")
_TYPE_MASK = 0x3FFF
"""NLA_TYPE_MASK"""
_ERROR, _DONE = 2, 3
"""NLMSG_ERROR, NLMSG_DONE"""
_REQUEST, _ACK, _DUMP = 0x1, 0x4, 0x300
_DUMP_INTERRUPTED, _CAPPED, _ACK_TLVS = 0x10, 0x100, 0x200
"""NLM_F_*"""
_ERROR_TEXT = 1
"""NLMSGERR_ATTR_MSG"""
_BATCH = 64
"""requests whose answers fit into any socket's buffer"""
_READ = 1 << 17
_TRIES = 10


@dataclass(frozen=True, slots=True)
class Request:
    kind: int
    """RTM_*"""
    body: bytes
    """family header and attributes"""
    flags: int = 0
    """NLM_F_CREATE, NLM_F_EXCL, ..."""


def attribute(kind: int, value: bytes) -> bytes:
    """struct nlattr with its value, padded to 4 bytes."""
    return _ATTRIBUTE.pack(4 + len(value), kind) + value + bytes(-len(value) % 4)


def read_attributes(data: bytes) -> dict[int, bytes]:
    """By kind; of several of one kind, the last."""
    found, at = {}, 0
    while at + 4 <= len(data):
        length, kind = _ATTRIBUTE.unpack_from(data, at)
        if length < 4:
            break
        found[kind & _TYPE_MASK] = data[at + 4 : at + length]
        at += length + 3 & ~3
    return found


def text(value: bytes) -> str:
    """A string as the kernel writes them, with its end."""
    return value.partition(b"\0")[0].decode(errors="replace")


class Rtnetlink:
    """A socket in the network namespace where it was made. Raises OSError, as its methods do."""

    def __init__(self) -> None:
        self._socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, socket.NETLINK_ROUTE)
        self._socket.setsockopt(_SOL_NETLINK, _NETLINK_CAP_ACK, 1)
        self._socket.setsockopt(_SOL_NETLINK, _NETLINK_EXT_ACK, 1)
        self._socket.bind((0, 0))
        self._sequence = 0

    def __enter__(self) -> Rtnetlink:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._socket.close()

    def _encode(self, request: Request, flags: int) -> bytes:
        self._sequence += 1
        length = _HEADER.size + len(request.body)
        padding = bytes(-length % 4)
        return _HEADER.pack(length, request.kind, request.flags | flags | _REQUEST, self._sequence, 0) + (
            request.body + padding
        )

    def change(self, requests: Iterable[Request]) -> None:
        """All of them, in order. Raises OSError with the kernel's words for the first that it refuses; those behind it may
        have been done."""
        waiting = list(requests)
        for start in range(0, len(waiting), _BATCH):
            batch = waiting[start : start + _BATCH]
            first = self._sequence + 1
            self._socket.send(b"".join(self._encode(request, _ACK) for request in batch))
            refused = None
            answered = first - 1
            while answered < self._sequence:
                for kind, flags, sequence, payload in self._messages():
                    if kind == _ERROR and sequence >= first:
                        answered = sequence
                        refused = refused or _error_of(payload, flags)
            if refused is not None:
                raise refused

    def dump(self, request: Request) -> list[bytes]:
        """Bodies of all that the kernel tells; again when it changed meanwhile."""
        for _ in range(_TRIES):
            found = self._dump_once(request)
            if found is not None:
                return found
        raise OSError(errno.EINTR, "what was asked for changes all the time")

    def _dump_once(self, request: Request) -> list[bytes] | None:
        self._socket.send(self._encode(request, _DUMP))
        found: list[bytes] = []
        interrupted = False
        while True:
            for kind, flags, sequence, payload in self._messages():
                if sequence != self._sequence:
                    continue
                interrupted = interrupted or bool(flags & _DUMP_INTERRUPTED)
                if kind in (_DONE, _ERROR):
                    error = _error_of(payload, flags)
                    if error is not None:
                        raise error
                    return None if interrupted else found
                found.append(payload)

    def _messages(self) -> Iterator[tuple[int, int, int, bytes]]:
        """(type, flags, sequence number, payload) of one datagram."""
        data, at = self._socket.recv(_READ), 0
        while at + _HEADER.size <= len(data):
            length, kind, flags, sequence, _ = _HEADER.unpack_from(data, at)
            yield kind, flags, sequence, data[at + _HEADER.size : at + length]
            at += length + 3 & ~3


def _error_of(payload: bytes, flags: int) -> OSError | None:
    """None for an acknowledgement. The kernel's own words, where it has some."""
    (code,) = struct.unpack_from("=i", payload)
    if code == 0:
        return None
    words = ""
    if flags & _ACK_TLVS and len(payload) >= 4 + _HEADER.size:
        (length,) = struct.unpack_from("=I", payload, 4)
        told = read_attributes(payload[4 + (_HEADER.size if flags & _CAPPED else length) :])
        words = text(told.get(_ERROR_TEXT, b""))
    return OSError(-code, words or os.strerror(-code))
