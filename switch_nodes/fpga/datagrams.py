"""Accesses to registers as datagrams (UDP, or a unix socket), without I/O. All numbers are big-endian.

Request: `INAR | version u8 | operation u8 | size u16 | session u32 | sequence u32 | address u32 | data`; data only in a
write. Answer: the same 20 bytes, `INAA` in front, in place of `address` a status; then the data of a read. A repeated
request, of the same session and sequence, is answered again and not executed again. So a client without an answer may
repeat its request.
"""

from __future__ import annotations

import struct
from collections import OrderedDict
from collections.abc import Hashable
from enum import IntEnum
from typing import Protocol

from switch_nodes.fpga.registers import WORD

__all__ = ["MAX_BYTES", "Operation", "RegisterBus", "RegisterServer", "decode_answer", "encode_request"]

MAX_BYTES = 1024
"""most bytes of data in one datagram"""
_HEAD = struct.Struct("!4sBBHIII")
_REQUEST, _ANSWER, _VERSION = b"INAR", b"INAA", 1
_SESSIONS = 64


class Operation(IntEnum):
    READ = 1
    WRITE = 2


class _Code(IntEnum):
    DONE = 0
    REFUSED = 1
    """status of an access with incomplete words, too many words, or outside the addresses"""


def encode_request(operation: Operation, session: int, sequence: int, address: int, size: int, data: bytes) -> bytes:
    """`data`: of a write."""
    return _HEAD.pack(_REQUEST, _VERSION, operation, size, session, sequence, address) + data


def decode_answer(answer: bytes, request: bytes) -> bytes | None:
    """The data of the answer; None when it is not an answer to this request. Raises ValueError for a refusal."""
    if len(answer) < _HEAD.size:
        return None
    magic, *same, status = _HEAD.unpack_from(answer)
    if magic != _ANSWER or same != list(_HEAD.unpack_from(request)[1:-1]):
        return None
    if status != _Code.DONE:
        raise ValueError("the card's agent refuses the access: not whole words, too many, or beyond the last address")
    data, size = answer[_HEAD.size :], same[2]
    expected = size if same[1] == Operation.READ else 0
    return data if len(data) == expected else None


class RegisterBus(Protocol):
    """The registers of a card in this process. `now`: time of the card's Machine, in ns."""

    @property
    def answers(self) -> bool:
        """Whether the agent in front of the registers is alive."""
        ...

    def read(self, address: int, size: int, now: int) -> bytes:
        """Raises ConnectionError without an answer, ValueError for a refused access."""
        ...

    def write(self, address: int, data: bytes, now: int) -> None:
        """Raises as `read`."""
        ...


class RegisterServer:
    """Answers requests with what a card says. One client at a time changes a card; several may read."""

    def __init__(self, card: RegisterBus) -> None:
        self._card = card
        self._answered: OrderedDict[Hashable, tuple[int, bytes]] = OrderedDict()

    def handle(self, request: bytes, now: int) -> bytes | None:
        """The answer; None to what is no request, and when the agent is dead."""
        if len(request) < _HEAD.size:
            return None
        magic, version, operation, size, session, sequence, address = _HEAD.unpack_from(request)
        if (magic, version) != (_REQUEST, _VERSION) or operation not in list(Operation):
            return None
        last = self._answered.get(session)
        if last is not None and last[0] == sequence and self._card.answers:
            return last[1]
        data, status, result = request[_HEAD.size :], _Code.DONE, b""
        writes = operation == Operation.WRITE
        if not 0 < size <= MAX_BYTES or size % WORD or address % WORD or len(data) != (size if writes else 0):
            status = _Code.REFUSED
        else:
            try:
                if writes:
                    self._card.write(address, data, now)
                else:
                    result = self._card.read(address, size, now)
            except ConnectionError:
                return None
            except ValueError:
                status = _Code.REFUSED
        answer = _HEAD.pack(_ANSWER, _VERSION, operation, size, session, sequence, status) + result
        self._answered[session] = (sequence, answer)
        self._answered.move_to_end(session)
        if len(self._answered) > _SESSIONS:
            self._answered.popitem(last=False)
        return answer
