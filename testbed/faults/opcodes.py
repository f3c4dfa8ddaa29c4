"""The words of `match.opcode`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from testbed.reading.keytypes import At, KeyType, Refer, refuse
from testbed.reading.problems import closest
from workloads.wire import ACK_UNLIMITED, OPCODES, Nak, Opcode, opcode_name

__all__ = ["ACK_OPCODES", "DATA_OPCODES", "IRN_OPCODES", "OPCODE_GROUPS", "UC_OPCODES", "OpcodesType"]

UC_OPCODES = frozenset(int(op) for op in Opcode if Opcode.UC_SEND_FIRST <= op <= Opcode.UC_WRITE_ONLY_IMM)
DATA_OPCODES = frozenset(int(op) for op in Opcode if OPCODES[op].is_request and op < Opcode.UC_SEND_FIRST) | UC_OPCODES
ACK_OPCODES = frozenset({int(Opcode.ACKNOWLEDGE)})
IRN_OPCODES = frozenset(map(int, (Opcode.WRITE_FIRST, Opcode.WRITE_ONLY, Opcode.WRITE_ONLY_IMM)))
"""opcodes of requests"""
OPCODE_GROUPS: dict[str, tuple[frozenset[int], int | None]] = {
    "data": (DATA_OPCODES, None),
    "ack": (ACK_OPCODES, ACK_UNLIMITED),
    "nak": (ACK_OPCODES, int(Nak.PSN_SEQUENCE)),
    "cnp": (frozenset({int(Opcode.CNP)}), None),
}
"""Words of `match.opcode` that say more than one opcode does: (opcodes, syndrome)."""

_NAMES = [op.name for op in Opcode if op <= Opcode.FETCH_ADD or op in UC_OPCODES or op is Opcode.IRN_ANSWER]
_WORDS = [*OPCODE_GROUPS, *_NAMES]


@dataclass(frozen=True, slots=True)
class OpcodesType(KeyType):
    """A word, the name of an opcode, or a list of names. What a word says of the syndrome is read as well."""

    def read(self, value: Any, at: At) -> frozenset[int]:
        if isinstance(value, str) and value in OPCODE_GROUPS:
            return OPCODE_GROUPS[value][0]
        words = value if isinstance(value, list) and value else [value]
        numbers = set()
        for word in words:
            if not isinstance(word, str) or word not in _NAMES:
                near = closest(word, _WORDS)
                raise refuse("unknown opcode", f"{', '.join(OPCODE_GROUPS)}, or names as WRITE_MIDDLE, or a list", near)
            numbers.add(int(Opcode[word]))
        return frozenset(numbers)

    def write(self, value: frozenset[int]) -> list[str]:
        return [opcode_name(code) for code in sorted(value)]

    def schema(self, refer: Refer) -> dict[str, Any]:
        return {"anyOf": [{"enum": _WORDS}, {"type": "array", "items": {"enum": _NAMES}, "minItems": 1}]}
