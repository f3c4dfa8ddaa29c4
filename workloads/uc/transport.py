"""Unreliable connections (UC) as a transport."""

from __future__ import annotations

from workloads.rc.transport import RoceTransport
from workloads.wire.opcodes import Opcode

__all__ = ["UNRELIABLE", "opcodes_of"]

UNRELIABLE = RoceTransport(
    "uc",
    "RoCE v2 unreliable connections, each packet of the protocol a message",
    {"retransmission": "no result came: the worker sends the message again"},
)


def opcodes_of(packets: int) -> frozenset[int]:
    """Of messages of at most `packets` packets."""
    longer = (Opcode.UC_WRITE_FIRST, Opcode.UC_WRITE_LAST_IMM) if packets > 1 else ()
    longest = (Opcode.UC_WRITE_MIDDLE,) if packets > 2 else ()
    return frozenset(map(int, (Opcode.UC_WRITE_ONLY_IMM, *longer, *longest)))
