"""Opcodes in words: sets of them, and what people read of a packet."""

from __future__ import annotations

from workloads.wire.opcodes import OPCODES, Opcode, opcode_name
from workloads.wire.syndrome import ACK_UNLIMITED, Nak

__all__ = [
    "ACK_OPCODES", "DATA_OPCODES", "IRN_ANSWERS", "IRN_OPCODES", "OPCODE_GROUPS", "OPCODE_NAMES", "UC_OPCODES",
    "carried_by", "ends_message", "is_at", "is_request", "is_write", "number_of", "packet_text", "starts_message",
    "words_of",
]  # fmt: skip

UC_OPCODES = frozenset(int(op) for op in Opcode if Opcode.UC_SEND_FIRST <= op <= Opcode.UC_WRITE_ONLY_IMM)
DATA_OPCODES = frozenset(int(op) for op in Opcode if OPCODES[op].is_request and op < Opcode.UC_SEND_FIRST) | UC_OPCODES
ACK_OPCODES = frozenset({int(Opcode.ACKNOWLEDGE)})
IRN_OPCODES = frozenset(map(int, (Opcode.WRITE_FIRST, Opcode.WRITE_ONLY, Opcode.WRITE_ONLY_IMM)))
"""opcodes of requests"""
IRN_ANSWERS = frozenset({int(Opcode.IRN_ANSWER)})
OPCODE_GROUPS: dict[str, tuple[frozenset[int], int | None]] = {
    "data": (DATA_OPCODES, None),
    "ack": (ACK_OPCODES, ACK_UNLIMITED),
    "nak": (ACK_OPCODES, int(Nak.PSN_SEQUENCE)),
    "cnp": (frozenset({int(Opcode.CNP)}), None),
}
"""Words of `match.opcode` that say more than one opcode does: (opcodes, syndrome)."""
OPCODE_NAMES = tuple(op.name for op in Opcode if op <= Opcode.FETCH_ADD or op in UC_OPCODES or op is Opcode.IRN_ANSWER)
"""names that people may use"""
_ANSWERS = (Opcode.ACKNOWLEDGE, Opcode.IRN_ANSWER)


def number_of(name: str) -> int:
    """Of one of `OPCODE_NAMES`."""
    return int(Opcode[name])


def words_of(opcodes: frozenset[int]) -> list[str]:
    """Names in the order of the numbers."""
    return [opcode_name(code) for code in sorted(opcodes)]


def packet_text(opcode: int, psn: int) -> str:
    """As `WRITE_MIDDLE PSN 17`."""
    return f"{opcode_name(opcode)} PSN {psn}"


def is_request(opcode: int) -> bool | None:
    """None: it is none that we know."""
    info = OPCODES.get(opcode)
    return None if info is None else info.is_request


def is_write(opcode: int) -> bool:
    info = OPCODES.get(opcode)
    return info is not None and info.is_write


def starts_message(opcode: int) -> bool:
    info = OPCODES.get(opcode)
    return info is not None and info.is_request and info.starts


def ends_message(opcode: int) -> bool:
    info = OPCODES.get(opcode)
    return info is not None and info.is_request and info.ends


def is_at(opcode: int, packet: int) -> bool:
    """Whether a packet with this opcode can be at that position of its message; -1: the last one."""
    info = OPCODES[opcode]
    if packet == 0:
        return info.starts
    return info.ends if packet < 0 else not info.starts


def carried_by(opcode: int) -> str:
    """data, answers or other."""
    if is_request(opcode):
        return "data"
    return "answers" if opcode in _ANSWERS else "other"
